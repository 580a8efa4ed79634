// SPDX-License-Identifier: MIT
//
// For programs whose errors are std::error_code: the library's codes as a category of their own. Only who includes this
// pays for it.
#ifndef ZTENSOR_ERROR_CODE_HPP
#define ZTENSOR_ERROR_CODE_HPP

#include <ztensor/error.hpp>

#include <cstddef>
#include <iterator>
#include <string>
#include <system_error>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// "ztensor": the value of a code is its errc, the message its name. Codes of which the standard library has an idea
/// compare equal to that: `make_error_code(why) == std::errc::no_such_file_or_directory`.
class errc_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "ztensor"; }
    /// The name of the errc that has this value.
    [[nodiscard]] std::string message(int code) const override {
        return is_known(code) ? std::string(ZTENSOR_MODE::name(static_cast<errc>(code))) : "an unknown code";
    }
    /// What the standard library calls it, where it has an idea of it.
    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (is_known(code) ? static_cast<errc>(code) : errc::io_error) {
        case errc::file_not_found:
            return std::errc::no_such_file_or_directory;
        case errc::out_of_memory:
            return std::errc::not_enough_memory;
        case errc::busy:
            return std::errc::device_or_resource_busy;
        case errc::invalid_argument:
            return std::errc::invalid_argument;
        case errc::cancelled:
            return std::errc::operation_canceled;
        default:
            return {code, *this};
        }
    }

private:
    [[nodiscard]] static bool is_known(int code) noexcept {
        return code >= 0 && static_cast<std::size_t>(code) < std::size(detail::errc_table);
    }
};

/// The category of errc for std::error_code, the only object of its class: codes compare equal if its address is the
/// same. So it is the compiled library's, where the modules of a program share one; header-only, modules that hide
/// their symbols have one each.
[[nodiscard]] const std::error_category& category() noexcept;

/// The code as one of the standard library.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}
/// Of an error its code; what the operating system said is error::os_error().
[[nodiscard]] inline std::error_code make_error_code(const error& why) noexcept {
    return make_error_code(why.code());
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/base/error_code_definitions.hpp>
#endif

#endif
