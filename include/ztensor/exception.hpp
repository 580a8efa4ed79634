// SPDX-License-Identifier: MIT
//
// What becomes of an error that was not checked: an exception, or where there are none the end of the program.
#ifndef ZTENSOR_EXCEPTION_HPP
#define ZTENSOR_EXCEPTION_HPP

#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

#include <exception>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// What result<T>::value() throws: holds the error.
class exception : public std::exception {
public:
    explicit exception(ztensor::error why) noexcept : error_(std::move(why)) {}
    [[nodiscard]] const char* what() const noexcept override { return error_.what().c_str(); }
    [[nodiscard]] const ztensor::error& error() const& noexcept { return error_; }
    [[nodiscard]] ztensor::error error() const&& noexcept { return error_; }
    [[nodiscard]] errc code() const noexcept { return error_.code(); }

private:
    ztensor::error error_;
};

namespace detail {

/// Throws exception(why), or says why and ends the program where exceptions are off.
[[noreturn]] void raise(const error& why);

/// Says that a result was asked for what it does not hold, which is a value where it holds `held`, and ends the
/// program.
[[noreturn]] void result_misused(const error* held) noexcept;

inline void expect([[maybe_unused]] bool is_there, [[maybe_unused]] const error* held) noexcept {
#if !defined(NDEBUG)
    if (!is_there) {
        result_misused(held);
    }
#endif
}

} // namespace detail

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/base/exception_definitions.hpp>
#endif

#endif
