// SPDX-License-Identifier: MIT
//
// What is left for a compiler that is neither GCC nor clang, on a processor that is neither x86 nor ARM: what the
// library writes for them stands in an #if, beside something that only needs the standard. Here they deny what they
// are, and do not know their own words. The standard's and the foreign headers come before, since these do need them.
#include "foreign_headers.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#endif

#undef __GNUC__
#undef __clang__
#undef __x86_64__
#undef __i386__
#undef __aarch64__
#undef __AARCH64EL__
#undef __SIZEOF_INT128__
#undef __ELF__
#define __attribute__(...) this_compiler_has_no_attributes
#define __asm__ this_compiler_has_no_assembler
#define __builtin_prefetch this_compiler_has_no_builtins
#define __builtin_mul_overflow this_compiler_has_no_builtins

#if defined(ZTENSOR_COMPILED)
#include <ztensor/compiled.hpp>
#endif
#include <ztensor/dlpack.hpp>
#include <ztensor/formatter.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/ztensor.hpp>

int main() {
}
