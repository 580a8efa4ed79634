// SPDX-License-Identifier: MIT
//
// How an error is passed on: what fails returns it from the function that asked.
#ifndef ZTENSOR_DETAIL_CORE_TRY_HPP
#define ZTENSOR_DETAIL_CORE_TRY_HPP

#include <utility>

#define ZTENSOR_TRY_NAME_OF(line) ztensor_tried_##line
#define ZTENSOR_TRY_NAME_AT(line) ZTENSOR_TRY_NAME_OF(line)
#define ZTENSOR_TRY_NAME ZTENSOR_TRY_NAME_AT(__LINE__)

/// Evaluates an expression that gives a result. Where that holds an error, returns it from the enclosing function.
#define ZTENSOR_TRY(...)                                                                                               \
    do {                                                                                                               \
        if (auto ZTENSOR_TRY_NAME = (__VA_ARGS__); !ZTENSOR_TRY_NAME) {                                                \
            return std::move(ZTENSOR_TRY_NAME).error();                                                                \
        }                                                                                                              \
    } while (false)

/// The same, and moves the value into what is declared: ZTENSOR_TRY_ASSIGN(const file_status status, file.status());
#define ZTENSOR_TRY_ASSIGN(declaration, ...)                                                                           \
    auto ZTENSOR_TRY_NAME = (__VA_ARGS__);                                                                             \
    if (!ZTENSOR_TRY_NAME) {                                                                                           \
        return std::move(ZTENSOR_TRY_NAME).error();                                                                    \
    }                                                                                                                  \
    declaration = *std::move(ZTENSOR_TRY_NAME)

#endif
