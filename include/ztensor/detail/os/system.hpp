// SPDX-License-Identifier: MIT
//
// The operating system that this is compiled for.
#ifndef ZTENSOR_DETAIL_OS_SYSTEM_HPP
#define ZTENSOR_DETAIL_OS_SYSTEM_HPP

#if defined(_WIN32)
#include <ztensor/detail/os/windows.hpp>
#else
#include <ztensor/detail/os/posix.hpp>
#endif

#endif
