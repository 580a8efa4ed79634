// SPDX-License-Identifier: MIT
//
// The words by which a result is told that it holds an error, as C++23 has them for std::expected. A plain error does.
#ifndef ZTENSOR_UNEXPECTED_HPP
#define ZTENSOR_UNEXPECTED_HPP

#include <ztensor/error.hpp>
#include <ztensor/version.hpp>

#include <string>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// Says that the error of a result is made in place: `result<int>(unexpect, errc::cancelled, "stopped")`.
struct unexpect_t {
    explicit unexpect_t() = default;
};
/// The one value of unexpect_t.
inline constexpr unexpect_t unexpect{};

/// An error that becomes a result of any type, also of one whose values are made of errors.
class unexpected {
public:
    explicit unexpected(ztensor::error why) noexcept : error_(std::move(why)) {}
    unexpected(errc code, std::string sentence) noexcept : error_(code, std::move(sentence)) {}

    [[nodiscard]] const ztensor::error& error() const& noexcept { return error_; }
    [[nodiscard]] ztensor::error& error() & noexcept { return error_; }
    [[nodiscard]] ztensor::error error() && noexcept { return std::move(error_); }

    void swap(unexpected& other) noexcept { std::swap(error_, other.error_); }
    friend void swap(unexpected& a, unexpected& b) noexcept { a.swap(b); }
    friend bool operator==(const unexpected& a, const unexpected& b) noexcept { return a.error_ == b.error_; }
    friend bool operator!=(const unexpected& a, const unexpected& b) noexcept { return !(a == b); }

private:
    ztensor::error error_;
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
