// SPDX-License-Identifier: MIT
//
// Work in a process of its own, where the system forks.
#ifndef ZTENSOR_TESTS_SUPPORT_CHILD_PROCESS_HPP
#define ZTENSOR_TESTS_SUPPORT_CHILD_PROCESS_HPP

#if !defined(_WIN32)

#include "support/catch.hpp"
#include "support/counted_memory.hpp"

#include <cstdlib>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(ZTENSOR_TESTS_ARE_COUNTED) // by tests/coverage/coverage.sh
extern "C" int __llvm_profile_write_file(void);
#endif

namespace support {

/// False where tests run under an emulator, of whose own threads a child that is forked off beside others may wait for
/// one that it has not got; tests/cross.sh says so.
inline bool forks_beside_threads() {
    const bool does = std::getenv("ZTENSOR_EMULATED") == nullptr;
    if (!does) {
        WARN("skipped: an emulator does not fork well beside threads");
    }
    return does;
}
/// The same where the others may be allocating at that moment, too: the allocator of a sanitizer, which has no handlers
/// of forks in clang 14, may then be locked in the child for ever.
inline bool forks_beside_allocating_threads() {
#if defined(ZTENSOR_TESTS_ARE_SANITIZED)
    WARN("skipped: the allocator of a sanitizer does not fork well beside threads");
    return false;
#else
    return forks_beside_threads();
#endif
}

/// Runs `child` in a process of its own, which ends with what it returns and cleans nothing up. -1 if it ended
/// otherwise.
template <class Child>
int exit_code_of(Child child) {
    const ::pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        const int code = child();
#if defined(ZTENSOR_TESTS_ARE_COUNTED) // else what ends without a destructor is not
        __llvm_profile_write_file();
#endif
        ::_exit(code);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace support

#endif
#endif
