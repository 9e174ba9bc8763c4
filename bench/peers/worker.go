package peers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxAnswer  = 64 << 20        // bytes in one answer: mismatch_rows of a large input is the longest
	stderrKeep = 8 << 10         // bytes of standard error kept for messages
	stderrLine = 12              // lines of it shown
	closeGrace = 5 * time.Second // between the close command and a kill
)

// Start says how a worker process is started.
type Start struct {
	Python  string    // interpreter of the pinned environment: a path, or a name looked up in PATH
	Threads int       // put into OMP_NUM_THREADS and the tokenizers' variables; at least 1
	Env     []string  // more NAME=value settings, which win over the others
	Stderr  io.Writer // receives the process's standard error as it comes; nil keeps only its end
}

// Worker is a running peer process. Its methods are not safe for concurrent use.
// After an error that is not a [*Fault] the process is gone and every later call
// returns ErrClosed.
type Worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *os.File
	errs    *os.File
	answers chan []byte   // one line each; closed at the end of standard output
	said    chan struct{} // closed at the end of standard error
	ended   chan struct{} // closed when the process and its group are gone
	tail    *tail
	dir     string // of the scripts, removed by Close
	peer    string // last loaded or asked for
	hello   Hello
	done    bool
	closing sync.Once
	exit    error // of the process, set before ended is closed
}

// New starts a worker and waits for its hello. The process belongs to the
// caller, who ends it with Close; ctx bounds the start only. Errors: ErrMissing
// (wrapped) when there is no such interpreter, or the end of the process with
// its last lines.
func New(ctx context.Context, s Start) (*Worker, error) {
	if s.Threads < 1 {
		return nil, fmt.Errorf("start a peer: threads is %d, want at least 1", s.Threads)
	}
	python, err := exec.LookPath(s.Python)
	if err != nil {
		return nil, fmt.Errorf("start a peer: no Python at %q (%v); %w", s.Python, err, ErrMissing)
	}
	dir, entry, err := writeScripts()
	if err != nil {
		return nil, err
	}
	// Started by name in its own bin folder, not through a resolved link: that
	// folder is how a virtual environment is recognised.
	if python, err = filepath.Abs(python); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("start a peer: %w", err)
	}
	w, err := launch(exec.Command(python, "-u", entry), s)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	w.dir = dir
	if err := w.ask(ctx, "hello", map[string]any{}, &w.hello); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// launch starts cmd as a worker process; it is New without Python.
func launch(cmd *exec.Cmd, s Start) (*Worker, error) {
	cmd.Env = environment(os.Environ(), s)
	keep := &tail{limit: stderrKeep}
	var words io.Writer = keep
	if s.Stderr != nil {
		words = io.MultiWriter(keep, s.Stderr)
	}
	// A group of its own: Ctrl-C reaches us alone and we end the peer, together
	// with the exporter it may have started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start peer process %s: %w", cmd.Path, err)
	}
	// Not StdoutPipe and a writer: Wait would close the one under its reader, and
	// wait for the other as long as anything the process started holds it.
	out, outw, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start peer process %s: %w", cmd.Path, err), in.Close())
	}
	errs, errsw, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start peer process %s: %w", cmd.Path, err), in.Close(), out.Close(), outw.Close())
	}
	cmd.Stdout, cmd.Stderr = outw, errsw
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start peer process %s: %w", cmd.Path, err),
			in.Close(), out.Close(), outw.Close(), errs.Close(), errsw.Close())
	}
	w := &Worker{cmd: cmd, in: in, out: out, errs: errs, tail: keep,
		answers: make(chan []byte, 1), said: make(chan struct{}), ended: make(chan struct{})}
	_ = errors.Join(outw.Close(), errsw.Close()) // ours; the child has its own
	go w.read(out)
	go func() {
		defer close(w.said)
		_, _ = io.Copy(words, errs) // until the last holder of its other end is gone
	}()
	go w.wait()
	return w, nil
}

// wait collects the process. What it started and left behind is killed: it would
// go on using the CPUs, and hold the pipes open.
func (w *Worker) wait() {
	defer close(w.ended)
	w.exit = w.cmd.Wait()
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) // mostly there is nobody
}

// read passes lines on until the process closes its standard output. It ends
// with the process, whose end of the pipe is the only one.
func (w *Worker) read(out *os.File) {
	defer close(w.answers)
	defer out.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	for lines.Scan() {
		w.answers <- slices.Clone(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintf(w.tail, "\nread its answers: %v\n", err)
	}
}

// environment is the parent's, with equal threads for every library and without
// what would change a peer's arithmetic or send it to the network.
func environment(parent []string, s Start) []string {
	drop := []string{"OPENBLAS_CORETYPE", "PYTHONPATH", "PYTHONHOME", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND"}
	env := slices.DeleteFunc(slices.Clone(parent), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	})
	n := strconv.Itoa(s.Threads)
	env = append(env, "OMP_NUM_THREADS="+n, "MKL_NUM_THREADS="+n, "OPENBLAS_NUM_THREADS="+n, "RAYON_NUM_THREADS="+n,
		"TOKENIZERS_PARALLELISM="+strconv.FormatBool(s.Threads > 1),
		"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HF_HUB_DISABLE_TELEMETRY=1", "PYTHONDONTWRITEBYTECODE=1")
	return append(env, s.Env...)
}

// Hello is what the worker said of itself when it started.
func (w *Worker) Hello() Hello { return w.hello }

// Load sets a peer up. Where only the batch differs from what is loaded, the
// loaded model is kept. A first load may export the model to ONNX (about half a
// minute). A peer whose packages are missing gives an error that is ErrMissing.
func (w *Worker) Load(ctx context.Context, c Config) (Loaded, error) {
	if err := c.Validate(); err != nil {
		return Loaded{}, fmt.Errorf("load peer: %w", err)
	}
	var a Loaded
	w.peer = c.Peer
	err := w.ask(ctx, "load", c, &a)
	return a, err
}

// Input gives the worker its rows: a file with one JSON object a line, {"text":
// string, "ids": [int]}, ids with special tokens; either may be absent when the
// peer does not read it. The rows stay until the next Input, through Loads.
// Rows that have both are tokenized by the peer and compared.
func (w *Worker) Input(ctx context.Context, path string) (Input, error) {
	var a Input
	err := w.ask(ctx, "input", map[string]any{"path": path}, &a)
	return a, err
}

// Run makes one timed pass over the input. When out is not empty the vectors are
// written there as float32 [rows, dim] after the clock stopped; see [ReadMatrix].
func (w *Worker) Run(ctx context.Context, out string) (Run, error) {
	var a Run
	err := w.ask(ctx, "run", map[string]any{"out": out}, &a)
	if err == nil && !(a.WallS > 0) {
		return a, fmt.Errorf("peer %s: run: wall time is %v s", orUnknown(w.peer), a.WallS)
	}
	return a, err
}

// ask sends one command and decodes its answer into dst.
func (w *Worker) ask(ctx context.Context, command string, body, dst any) error {
	if w.done {
		return fmt.Errorf("peer %s: %s: %w", orUnknown(w.peer), command, ErrClosed)
	}
	line, err := encode(command, body)
	if err != nil {
		return fmt.Errorf("peer %s: %s: %w", orUnknown(w.peer), command, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("peer %s: %s: %w", orUnknown(w.peer), command, err)
	}
	// A write to a dead process fails; what it said last is the better message.
	_, writeErr := w.in.Write(line)
	if writeErr != nil {
		return w.dead(command)
	}
	select {
	case <-ctx.Done():
		w.kill()
		return fmt.Errorf("peer %s: %s: no answer: %w%s", orUnknown(w.peer), command, ctx.Err(), w.last())
	case answer, ok := <-w.answers:
		return w.answered(command, answer, ok, dst)
	case <-w.ended:
	}
	// Its last words may be on their way. A process that left the group could hold
	// the pipe for ever.
	select {
	case answer, ok := <-w.answers:
		return w.answered(command, answer, ok, dst)
	case <-time.After(closeGrace):
		return w.dead(command)
	}
}

func (w *Worker) answered(command string, answer []byte, ok bool, dst any) error {
	if !ok {
		return w.dead(command)
	}
	return w.decode(command, answer, dst)
}

func encode(command string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the command: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("encode the command: %w", err)
	}
	fields["cmd"] = json.RawMessage(strconv.Quote(command))
	line, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the command: %w", err)
	}
	return append(line, '\n'), nil
}

func (w *Worker) decode(command string, answer []byte, dst any) error {
	var fault struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Kind  string `json:"kind"`
		Trace string `json:"trace"`
	}
	if err := json.Unmarshal(answer, &fault); err != nil || !fault.OK && fault.Error == "" {
		w.kill() // out of step: no later answer could be trusted
		return fmt.Errorf("peer %s: %s: answer is not the protocol's: %.200q%s", orUnknown(w.peer), command, answer, w.last())
	}
	if fault.Error != "" {
		return &Fault{Command: command, Peer: w.peer, Kind: fault.Kind, Text: fault.Error, Trace: strings.TrimSpace(fault.Trace)}
	}
	if err := json.Unmarshal(answer, dst); err != nil {
		w.kill()
		return fmt.Errorf("peer %s: %s: decode the answer %.200q: %w", orUnknown(w.peer), command, answer, err)
	}
	return nil
}

// dead collects the process and reports its end.
func (w *Worker) dead(command string) error {
	w.finish(closeGrace) // it is on its way out: a kill would hide its own exit status
	status := "exit status 0"
	if w.exit != nil {
		status = w.exit.Error()
	}
	return fmt.Errorf("peer %s: %s: %w (%s)%s", orUnknown(w.peer), command, ErrDied, status, w.last())
}

func (w *Worker) last() string {
	if s := w.tail.lines(stderrLine); s != "" {
		return "; its last lines:\n" + s
	}
	return ""
}

// kill ends the process at once.
func (w *Worker) kill() { w.finish(0) }

// finish closes the process's input, gives it grace to leave, kills it with all
// that it started, and collects it. Calls after the first do nothing.
func (w *Worker) finish(grace time.Duration) {
	w.done = true
	w.closing.Do(func() {
		_ = w.in.Close() // the process may be gone already
		timer := time.AfterFunc(grace, func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
		<-w.ended
		timer.Stop()
		held := time.AfterFunc(closeGrace, func() { _ = errors.Join(w.out.Close(), w.errs.Close()) })
		for range w.answers { // the reader must not stay blocked on an answer nobody takes
		}
		<-w.said
		held.Stop()
		_ = w.errs.Close() // its reader is done
		if w.dir != "" {
			w.exit = errors.Join(w.exit, os.RemoveAll(w.dir))
		}
	})
}

// Close ends the process. It reports a process that had to be killed or left
// with an error of its own; after an error that already ended it, Close returns
// nil. It may be called more than once.
func (w *Worker) Close() error {
	if w.done {
		w.kill()
		return nil
	}
	_, err := w.in.Write([]byte("{\"cmd\":\"close\"}\n"))
	w.finish(closeGrace)
	if err = errors.Join(err, w.exit); err != nil {
		return fmt.Errorf("close peer %s: %w%s", orUnknown(w.peer), err, w.last())
	}
	return nil
}

// tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// lines gives the last n lines that hold anything.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.TrimSpace(strings.Join(all[max(0, len(all)-n):], "\n"))
}
