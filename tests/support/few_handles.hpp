// SPDX-License-Identifier: MIT
//
// A process that may have few files open, as long as this lives. Windows knows no such limit.
#ifndef ZTENSOR_TESTS_SUPPORT_FEW_HANDLES_HPP
#define ZTENSOR_TESTS_SUPPORT_FEW_HANDLES_HPP

#if !defined(_WIN32)
#include <sys/resource.h>
#endif

namespace support {

#if defined(_WIN32)
struct few_handles {
    explicit few_handles(unsigned /*most*/) noexcept {}
};
#else
class few_handles {
public:
    explicit few_handles(unsigned most) noexcept {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        ::rlimit now = before_;
        now.rlim_cur = most;
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    few_handles(const few_handles&) = delete;
    few_handles& operator=(const few_handles&) = delete;
    ~few_handles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    ::rlimit before_ = {};
};
#endif

} // namespace support

#endif
