// SPDX-License-Identifier: MIT
//
// What must come of a call that fails, to be compared with an error code.
#ifndef ZTENSOR_TESTS_SUPPORT_REFUSAL_HPP
#define ZTENSOR_TESTS_SUPPORT_REFUSAL_HPP

#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <optional>
#include <ostream>
#include <string>

namespace support {

/// The code of a call that must fail; of one that did not, something that equals no code.
struct refusal {
    template <class T>
    explicit refusal(const ztensor::result<T>& of) : code(of ? std::nullopt : std::optional(of.error().code())) {}
    std::optional<ztensor::errc> code;

    friend bool operator==(const refusal& a, ztensor::errc b) { return a.code == b; }
    friend std::ostream& operator<<(std::ostream& out, const refusal& from) {
        return out << (from.code ? name(*from.code) : "no error");
    }
};

/// The name of the code, or "ok".
template <class T>
[[nodiscard]] std::string outcome(const ztensor::result<T>& answer) {
    return answer ? "ok" : std::string(name(answer.error().code()));
}

/// What was done, whatever it gave.
template <class T>
[[nodiscard]] ztensor::result<void> done(const ztensor::result<T>& answer) {
    return answer ? ztensor::result<void>() : ztensor::result<void>(answer.error());
}

} // namespace support

#endif
