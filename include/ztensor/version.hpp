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

// What a file that defines the library uses: xxHash (version 2), zlib (compressed parts of other formats) and
// nlohmann/json (safetensors, indices of shards), each where its header is there and ZTENSOR_WITHOUT_... is not
// defined. A compiled library decides for its users.
#if !defined(ZTENSOR_COMPILED) && (defined(ZTENSOR_WITHOUT_XXHASH) || !__has_include(<xxhash.h>))
#define ZTENSOR_MODE_XXHASH _without_xxhash
#else
#define ZTENSOR_MODE_XXHASH
#endif
#if !defined(ZTENSOR_COMPILED) && (defined(ZTENSOR_WITHOUT_ZLIB) || !__has_include(<zlib.h>))
#define ZTENSOR_MODE_ZLIB _without_zlib
#else
#define ZTENSOR_MODE_ZLIB
#endif
#if !defined(ZTENSOR_COMPILED) && (defined(ZTENSOR_WITHOUT_JSON) || !__has_include(<nlohmann/json.hpp>))
#define ZTENSOR_MODE_JSON _without_json
#else
#define ZTENSOR_MODE_JSON
#endif

// How a file uses the library. Header-only, unless it defines ZTENSOR_COMPILED: then the definitions are those of one
// file that includes <ztensor/compiled.hpp>, such as the one that the CMake target ztensor::compiled builds. Everything
// lives in an inline namespace of the mode's name, so that no function of one mode is taken for that of another: two
// header-only files, one of them without xxHash, have functions of their own each, and what takes a type of the
// library does not link between them.
#if defined(ZTENSOR_COMPILED) && ZTENSOR_HAS_EXCEPTIONS
#define ZTENSOR_MODE_BASE v0_compiled
#elif defined(ZTENSOR_COMPILED)
#define ZTENSOR_MODE_BASE v0_compiled_without_exceptions
#elif ZTENSOR_HAS_EXCEPTIONS
#define ZTENSOR_MODE_BASE v0_header_only
#else
#define ZTENSOR_MODE_BASE v0_header_only_without_exceptions
#endif
#define ZTENSOR_PASTE(a, b, c, d) a##b##c##d
#define ZTENSOR_JOIN(a, b, c, d) ZTENSOR_PASTE(a, b, c, d)
#define ZTENSOR_MODE ZTENSOR_JOIN(ZTENSOR_MODE_BASE, ZTENSOR_MODE_XXHASH, ZTENSOR_MODE_ZLIB, ZTENSOR_MODE_JSON)

// How an error is passed on: by the function that met it to the one that asked.
#define ZTENSOR_TRY_NAME ZTENSOR_JOIN(ztensor_tried_, __LINE__, , )

/// Evaluates an expression that gives a result. Where that holds an error, returns it from the enclosing function.
#define ZTENSOR_TRY(...)                                                                                               \
    do {                                                                                                               \
        if (auto ZTENSOR_TRY_NAME = (__VA_ARGS__); !ZTENSOR_TRY_NAME) {                                                \
            return static_cast<decltype(ZTENSOR_TRY_NAME)&&>(ZTENSOR_TRY_NAME).error();                                \
        }                                                                                                              \
    } while (false)

/// The same, and moves the value into what is declared: ZTENSOR_TRY_ASSIGN(const file_status status, file.status());
#define ZTENSOR_TRY_ASSIGN(declaration, ...)                                                                           \
    auto ZTENSOR_TRY_NAME = (__VA_ARGS__);                                                                             \
    if (!ZTENSOR_TRY_NAME) {                                                                                           \
        return static_cast<decltype(ZTENSOR_TRY_NAME)&&>(ZTENSOR_TRY_NAME).error();                                    \
    }                                                                                                                  \
    declaration = *static_cast<decltype(ZTENSOR_TRY_NAME)&&>(ZTENSOR_TRY_NAME)

// What stands before a definition that only header-only mode puts into every file.
#if defined(ZTENSOR_COMPILED)
#define ZTENSOR_INLINE
#else
#define ZTENSOR_INLINE inline
#endif

// What should not grow its callers; and of that, what is seldom called and should itself be small: everything that
// words an error, and what is done once for a file.
#if defined(__clang__)
#define ZTENSOR_NOINLINE __attribute__((noinline))
#define ZTENSOR_COLD __attribute__((cold, noinline, minsize)) // which GCC takes cold for
#elif defined(__GNUC__)
#define ZTENSOR_NOINLINE __attribute__((noinline))
#define ZTENSOR_COLD __attribute__((cold, noinline))
#elif defined(_MSC_VER)
#define ZTENSOR_NOINLINE __declspec(noinline)
#define ZTENSOR_COLD __declspec(noinline)
#else
#define ZTENSOR_NOINLINE
#define ZTENSOR_COLD
#endif

// A program whose files are of both modes does not link: a class of the user's that holds one of ours would differ from
// file to file. Linkers compare no values, but they do refuse one name for both a thread's own variable and a common
// one; Microsoft's has a word for it.
#if defined(__ELF__) && defined(ZTENSOR_COMPILED)
__attribute__((used, visibility("hidden"))) inline char
    ztensor_error_files_with_and_without_ZTENSOR_COMPILED_are_linked_into_one_program = 0;
#elif defined(__ELF__)
__attribute__((used, visibility("hidden"))) inline thread_local char
    ztensor_error_files_with_and_without_ZTENSOR_COMPILED_are_linked_into_one_program = 0;
#elif defined(_MSC_VER) && defined(ZTENSOR_COMPILED)
#pragma detect_mismatch("ZTENSOR_COMPILED", "defined")
#elif defined(_MSC_VER)
#pragma detect_mismatch("ZTENSOR_COMPILED", "not defined")
#endif

#endif
