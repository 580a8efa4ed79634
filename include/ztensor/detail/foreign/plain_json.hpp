// SPDX-License-Identifier: MIT
//
// The fast way through JSON as programs write it: no spaces, no escapes, no characters beyond ASCII, no numbers but
// whole ones. Anything else is left to json.hpp, which tells a listener the same of it; this takes a fifth of the time.
#ifndef ZTENSOR_DETAIL_FOREIGN_PLAIN_JSON_HPP
#define ZTENSOR_DETAIL_FOREIGN_PLAIN_JSON_HPP

#include <ztensor/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

enum class plain_outcome : std::uint8_t {
    done,      ///< all was told
    refused,   ///< the listener did not want to go on, for good
    not_plain, ///< what was told is of no use: start anew with parse_json() and another listener
};

/// Characters that a plain string holds.
inline constexpr std::array<bool, 256> plain_characters = [] {
    std::array<bool, 256> table{};
    for (std::size_t c = 0x20; c < 0x7f; ++c) {
        table[c] = c != '"' && c != '\\';
    }
    return table;
}();

/// Tells one listener what one text says. `Listener` is a json_listener, whose calls need not be virtual here.
template <class Listener>
class plain_json {
public:
    plain_json(std::string_view text, Listener& to) noexcept
        : at_(text.data()), end_(text.data() + text.size()), to_(to) {}

    [[nodiscard]] plain_outcome run() {
        while (take_value()) {
            if (!leave_ended() || depth_ == 0) {
                break;
            }
        }
        while (!is_refused_ && !is_odd_ && at_ != end_) { // what pads a header
            is_odd_ = *at_++ != ' ';
        }
        return is_refused_ ? plain_outcome::refused : is_odd_ ? plain_outcome::not_plain : plain_outcome::done;
    }

private:
    static constexpr std::size_t most_depth = 8;

    bool odd() noexcept {
        is_odd_ = true;
        return false;
    }
    bool told(bool is_wanted) noexcept {
        is_refused_ = !is_wanted;
        return is_wanted;
    }
    [[nodiscard]] bool take(char wanted) noexcept {
        const bool is_there = at_ != end_ && *at_ == wanted;
        at_ += is_there ? 1 : 0;
        return is_there;
    }

    /// One value that encloses none, or the start of one that does, up to its first value.
    bool take_value() {
        for (;;) {
            if (at_ == end_ || depth_ == most_depth) {
                return odd();
            }
            if (*at_ == '"') {
                std::string_view text;
                return take_text(text) && told(to_.text(text));
            }
            if (*at_ != '{' && *at_ != '[') {
                return take_number();
            }
            const bool is_object = *at_++ == '{';
            if (!told(is_object ? to_.begin_object() : to_.begin_array())) {
                return false;
            }
            is_object_[depth_++] = is_object;
            if (at_ != end_ && *at_ == (is_object ? '}' : ']')) {
                return true;
            }
            if (is_object && !take_key()) {
                return false;
            }
        }
    }

    bool take_key() {
        std::string_view name;
        return take_text(name) && (take(':') || odd()) && told(to_.key(name));
    }

    /// Behind a value: ends what ends here, or goes to the next value. False where that is odd or refused.
    bool leave_ended() {
        while (depth_ != 0) {
            const bool is_object = is_object_[depth_ - 1];
            if (take(',')) {
                return !is_object || take_key();
            }
            if (!take(is_object ? '}' : ']')) {
                return odd();
            }
            --depth_;
            if (!told(is_object ? to_.end_object() : to_.end_array())) {
                return false;
            }
        }
        return true;
    }

    bool take_text(std::string_view& text) noexcept {
        if (!take('"')) {
            return odd();
        }
        const char* const begin = at_;
        while (at_ != end_ && plain_characters[static_cast<unsigned char>(*at_)]) {
            ++at_;
        }
        text = {begin, static_cast<std::size_t>(at_ - begin)};
        return take('"') || odd();
    }

    bool take_number() {
        constexpr std::ptrdiff_t most_digits = 19; // any such number fits 64 bits
        const char* const begin = at_;
        std::uint64_t value = 0;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin < most_digits; ++at_) {
            value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
        }
        const bool is_plain = at_ != begin && (*begin != '0' || at_ - begin == 1) && at_ != end_ &&
                              (*at_ == ',' || *at_ == ']' || *at_ == '}');
        return is_plain ? told(to_.unsigned_integer(value)) : odd();
    }

    const char* at_;
    const char* end_;
    Listener& to_;
    std::array<bool, most_depth> is_object_{};
    std::size_t depth_ = 0;
    bool is_odd_ = false;
    bool is_refused_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
