package tokentest

const (
	letters     = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
)

var words = []string{
	"The", "reader", "of", "a", "PIPE", "unaffordable", "DescribeReservedInstances", "io.Writer", "x1", "sha256", "goroutine's", "don't",
	"func", "return", "nil", "HTTPServer", "getURLForID", "don\u2019t", "naive", "https://example.org/a?b=c&d#e", "user@example.com", "__init__",
	"3.14159", "1,000,000", "2024-05-06", "0xDEADBEEF", "a_b_c", "C++", "#define", "e.g.,", "(and", "so)", "\"quoted\"", "and/or", "...", "--",
}

var gaps = []string{
	" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\n  ", " \n", "\n\t\t", "\t ", " \t", "  \n \n  ", "\r\n\r\n", "\v", "\f",
	"\u00a0", "\u00a0 ", " \u00a0", "\u2003", "\u3000", "\u3000\n", "\u2028", "\u2029", "\u0085", "\n\u0085 ", "\u1680", "\u202f", "\u205f",
	"                         ", "                              ", "\n\n\n\n   \n", "\u200b", "\u2060", "\ufeff", "\u180e",
}

var scripts = []string{
	"\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "\u0939\u093f\u0928\u094d\u0926\u0940",
	"\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "\u6771\u4eac\u90fd\u306f",
	"\u30ab\u30bf\u30ab\u30ca", "\uff76\uff9e\uff77", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u10e5\u10d0\u10e0\u10d7",
	"\u0540\u0561\u0575", "\u12a0\u121b\u122d\u129b", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd", "\u0f56\u0f7c\u0f51\u0f0b", "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
	"\u13e3\u13b3\u13a9", "\u0915\u093c\u0958", "\U00020000\U0002a6d6", "caf\u00e9 na\u00efve", "cafe\u0301", "Stra\u00dfe", "\u201cquoted\u201d",
	"\u00abx\u00bb", "\u00a1Hola! \u00bfQu\u00e9?", "\uff28\uff45\uff4c\uff4c\uff4f", "\u0661\u0662\u0663", "\u2460\u2461", "\u00bd\u00b2", "\u2167",
}

var emoji = []string{
	"\U0001F468\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466", "\U0001F44D\U0001F3FD", "\U0001F1E9\U0001F1EA", "\u2764\ufe0f", "\U0001F680",
	"\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "1\ufe0f\u20e3", "\U0001FAE8", "\u263a", "\U0001F600 ", " \U0001F600x",
}

var apostrophes = []string{"'", "'", "'", " '", "it'", "IT'", "\u2019", "''", "\n'", "1'", "!'", "\u00e9'", "\u00a0'", "\u0301'"}

var shortened = []string{
	"s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "Ve", "M", "lL", "D", "\u017f", "\u017fx", "sx", "rex", "l", "r", "v", "s's", "ll'll", "x",
	"s\u0301", "st", "dd", "\u212a", "s ", "re\n", "m1", "t!", "S'\u017f", "ss", "\u1e9e",
}

var marks = []string{
	"\u0301", "\u0300", "\u0323", "\u0327", "\u0345", "\u0316", "\u05b0", "\u094d", "\u093c", "\u0334", "\u3099", "\u309a", "\u0653", "\u0338",
	"\U0001D165", "\U0001D16E", "\u20dd", "\u0f71", "\u0f72", "\u0f74", "\u1dfa", "\u302f", "\ufe20", "a", "e", "q", "\u0391", "\u0627", "\u00e5", "\u00ea", "\u1ea1",
}

var broken = []string{
	"\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\x80", "\xe0\x80\x80", "\xf5\x80", "\x80", "\xf4\x90\x80\x80", "a\xffb", "\xc3\xa9\xc3", "\xfe\xff", "\xef\xbf\xbd",
}

var repeated = []string{
	"a", "ab", " ", "\n", "\t", "!", "-", "=", "0", "1", "\u00e9", "\u4e2d", "\U0001F600", "\u0301", "\u200d", "A", "aA", "'s", " a", "\r\n", "#", "\u2581", "_", "a ", "1 ", "\u0660",
}

var cased = []string{
	"\u0130stanbul \u0131I", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3", "\u03c3\u03c2\u03a3", "\u01c5\u01c6\u01c4", "\ufb00\ufb03\ufb05", "\u1e9b\u0323", "\u212b\u212a\u2126", "\u1e9e\u00df",
	"\u0149", "\u02bc\u02b0", "\u01f0", "\u0390\u1fb7", "\u24b6\u24d0", "\u2160\u2170", "\U00010400\U00010428", "\u1c89\u1c8a", "\U00010D50", "\ua7cb", "\u0378", "\u0e00", "\ue000",
	"ABC\u05dedEF", "aB\u02b0C", "ABC\u0301D", "XMLHttp", "iPhone's", "\u00c9TAT", "\u00c9tat", "aA\u0301b", "\u01c5x",
}

var code = []string{
	"if err != nil {\n\t\treturn err\n\t}\n", "// a comment\n//\n//go:build x\n", "x := []string{\"a\", 'b', `c`}\n", "/* c */\n/**/", "for (int i=0;i<n;++i){\r\n}\r\n", "<p>a</p>\n</div>\n/x",
	"SELECT * FROM t WHERE a='b';", "a\n/b\n\n//c", "def f(x):\n    return x\n", "}\n\n\n//", "!\n/\n/*", "==\n==\n", "\u2026\n/", "-\u0301/\n/",
}
