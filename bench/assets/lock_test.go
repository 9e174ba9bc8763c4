package assets

import (
	"regexp"
	"strings"
	"testing"
)

func TestEmbeddedLock(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Platform: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Names(), " "); got != "onnxruntime all-minilm-l6-v2 techdocs cuda-header "+strings.Join(Expand(Groups()), " ") {
		t.Errorf("assets: %s", got)
	}
	for _, c := range []struct{ platform, name, use, wheelSHA, useSHA string }{
		{"linux/amd64", "onnxruntime", "libonnxruntime.so.1.32.0",
			"02ea12a28c069ea8510093d95a7f6ff8126bfd9fc5c0d3381c03b80fb2b424ba", "6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f"},
		{"linux/arm64", "onnxruntime", "libonnxruntime.so.1.32.0",
			"54d02baff2df38777b4c3cc7af326406fe8b8a48f54720f4c446d2d327920a79", "49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a"},
		{"linux/arm64", "all-minilm-l6-v2", "model", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", ""},
		{"linux/amd64", "onnxruntime-gpu", "libonnxruntime.so.1.31.1",
			"f659529e07c21ec6b6179fd1bfaf82ffb7c3dc9c0916e18f6f313f9a690891be", "5104254339ecadae808da771bd0b63b240f0dbd466514234905e54372435c303"},
		{"linux/amd64", "cuda12-cublas", "lib", "d7d51055f161b317c7105ddaae90e71eda059026074ffef93cf7cde2886bfe72", ""},
		{"linux/arm64", "cuda-header", "include", "18c038592af387684812fa712642aa9a26c12da80acb488b6709f7cced147f71", ""},
		{"linux/amd64", "techdocs", "botocore-1.44.8-py3-none-any.whl",
			"76342a76c338701db80dcb8afe1c9bd079283d6fffbb9d881442abb02a215043", "76342a76c338701db80dcb8afe1c9bd079283d6fffbb9d881442abb02a215043"},
	} {
		s.opt.Platform = c.platform
		e, err := s.Entry(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.asset(&e); e.Use != c.use || e.SHA256 != c.wheelSHA || a.SHA256 != c.useSHA {
			t.Errorf("%s for %s: uses %s, wheel %s, sha256 %s", c.name, c.platform, e.Use, e.SHA256, a.SHA256)
		}
		// pip picks by these tags; the wheel's name must carry them.
		tags := e.Pip.ABI + "-" + e.Pip.Platform + ".whl"
		if !strings.HasSuffix(e.Wheel, tags) {
			t.Errorf("wheel %s does not end in %s, which pip is told", e.Wheel, tags)
		}
	}
	if address := regexp.MustCompile(`(?i)https?:|www\.|\.(org|com|io)\b`).Find(lockJSON); address != nil {
		t.Errorf("the lock file has an address: %s", address)
	}
}

func TestParseLockFaults(t *testing.T) {
	good := string((&rig{t: t, entry: thingEntry([]byte("x"))}).lockJSON())
	if _, err := parseLock([]byte(good)); err != nil {
		t.Fatal(err)
	}
	sha := sum([]byte("x"))
	for _, c := range []struct{ name, old, new, want string }{
		{"schema", `"schema":1`, `"schema":2`, "read lock file: expected schema 1, found 2"},
		{"unknown field", `"schema":1`, `"schema":1,"url":"x"`, `read lock file: json: unknown field "url"`},
		{"escaping target", `"to":"lib.so"`, `"to":"../lib.so"`, `asset thing for any: file "../lib.so" would escape the asset's directory`},
		{"absolute target", `"to":"lib.so"`, `"to":"/lib.so"`, `asset thing for any: file "/lib.so" would escape the asset's directory`},
		{"escaping member", `"from":"pkg/lib.so"`, `"from":"pkg/../../lib.so"`, `asset thing for any: member "pkg/../../lib.so" would escape the cache`},
		{"escaping name", `"name":"thing"`, `"name":"../thing"`, `asset ../thing for any: name "../thing" is not a plain file name`},
		{"option as a value", `"abi":"none"`, `"abi":"--index"`, `asset thing for any: pip.abi "--index" is not a value`},
		{"upper-case hash", `"sha256":"` + sha, `"sha256":"` + strings.ToUpper(sha), `asset thing for any: wheel size 1 or sha256 "` + strings.ToUpper(sha) + `" is not one`},
		{"platform", `"platform":"any","purpose"`, `"platform":"linux","purpose"`, `asset thing for linux: platform "linux" is neither OS/ARCH nor any`},
		{"use", `"use":"model"`, `"use":"mode"`, `asset thing for any: use "mode" is not among the files`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.new, 1)
			if bad == good {
				t.Fatalf("%s is not in %s", c.old, good)
			}
			_, err := parseLock([]byte(bad))
			wantErr(t, err, c.want)
		})
	}
	twice := strings.Replace(good, `"assets":[`, `"assets":[`+good[strings.Index(good, "[")+1:strings.LastIndex(good, "]")]+",", 1)
	_, err := parseLock([]byte(twice))
	wantErr(t, err, "asset thing for any appears twice")
}

func TestDirNameFollowsContent(t *testing.T) {
	e := thingEntry([]byte("x"))
	a := e.dirName()
	if !strings.HasPrefix(a, "thing-1.0-any-") {
		t.Errorf("directory %s", a)
	}
	e.Files[0].SHA256 = sum([]byte("other"))
	if b := e.dirName(); a == b {
		t.Errorf("another file, same directory %s", b)
	}
}
