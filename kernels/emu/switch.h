// How one fiber gives way to another.
#pragma once

#if defined(__x86_64__)
// The registers that a call preserves are kept on the stack, and stacks are changed: the
// system's own functions ask the kernel for the signal mask at every change, which takes
// sixty times as long.
asm(".pushsection .text\n"
	".globl encbench_emu_switch\n"
	".hidden encbench_emu_switch\n"
	".type encbench_emu_switch, @function\n"
	"encbench_emu_switch:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size encbench_emu_switch, .-encbench_emu_switch\n"
	".popsection\n");
extern "C" void encbench_emu_switch(void **from, void *to);
#else
#include <ucontext.h>
#endif
