// SPDX-License-Identifier: MIT
//
// What a shared library exports: what the headers between these two declare. The rest is compiled with
// -fvisibility=hidden and stays inside. Where the compiler knows no such thing CMake exports everything.
#ifndef ZTENSOR_CMAKE_COMPILED_EXPORT_HPP
#define ZTENSOR_CMAKE_COMPILED_EXPORT_HPP

#if defined(__GNUC__) && !defined(_WIN32)
#define ZTENSOR_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define ZTENSOR_EXPORT_END _Pragma("GCC visibility pop")
#else
#define ZTENSOR_EXPORT_BEGIN
#define ZTENSOR_EXPORT_END
#endif

#endif
