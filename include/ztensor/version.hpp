// SPDX-License-Identifier: MIT
//
// The library's version and every macro it defines. CMake, conan and vcpkg read the version from here.
#ifndef ZTENSOR_VERSION_HPP
#define ZTENSOR_VERSION_HPP

#define ZTENSOR_VERSION_MAJOR 0
#define ZTENSOR_VERSION_MINOR 1
#define ZTENSOR_VERSION_PATCH 0

// 1 where the compiler may throw. It changes no type and no signature: `result<T>::value()` on an error throws
// where this is 1 and ends the program with the error's sentence where it is 0.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define ZTENSOR_HAS_EXCEPTIONS 1
#else
#define ZTENSOR_HAS_EXCEPTIONS 0
#endif

#endif
