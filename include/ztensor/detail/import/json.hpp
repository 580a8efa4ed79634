// SPDX-License-Identifier: MIT
//
// JSON: by nlohmann, and plain JSON without it.
#ifndef ZTENSOR_DETAIL_IMPORT_JSON_HPP
#define ZTENSOR_DETAIL_IMPORT_JSON_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/version.hpp>

#include <array>
#include <utility>

// -- json
//
// JSON -> what it says, one piece after the other, with no tree in between. Besides json.hpp the only room that knows
// nlohmann/json, whose parser for events keeps its place in a vector of bits and never recurses.

#if __has_include(<nlohmann/json.hpp>) && !defined(ZTENSOR_WITHOUT_JSON)
#include <nlohmann/json.hpp>
#endif

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Takes in what JSON says; each call answers whether to go on. What a listener wants it overrides: the rest it
/// refuses.
class json_listener {
public:
    json_listener() = default;
    json_listener(const json_listener&) = delete;
    json_listener& operator=(const json_listener&) = delete;

    [[nodiscard]] virtual bool begin_object() = 0;
    [[nodiscard]] virtual bool key(string_view name) = 0;
    [[nodiscard]] virtual bool end_object() = 0;
    [[nodiscard]] virtual bool begin_array() = 0;
    [[nodiscard]] virtual bool end_array() = 0;
    [[nodiscard]] virtual bool unsigned_integer(uint64_t) { return other("a number"); }
    [[nodiscard]] virtual bool text(string_view value) = 0;
    [[nodiscard]] virtual bool boolean(bool) { return other("a truth value"); }
    /// A value of any other kind, such as "a negative number".
    [[nodiscard]] virtual bool other(const char* what) = 0;
    [[nodiscard]] virtual bool null() { return other("null"); }

    /// Why it does not want to go on.
    [[nodiscard]] const error& why() const noexcept { return why_; }

protected:
    ~json_listener() = default;
    ZTENSOR_COLD bool refuse(error why) noexcept {
        why_ = std::move(why);
        return false;
    }

private:
    error why_{errc::json_malformed, {}};
};

#if __has_include(<nlohmann/json.hpp>) && !defined(ZTENSOR_WITHOUT_JSON)

/// nlohmann's events -> ours.
class json_events {
public:
    explicit json_events(json_listener& to) noexcept : to_(to) {}

    bool null() { return to_.null(); }
    bool boolean(bool value) { return to_.boolean(value); }
    bool number_integer(int64_t) { return to_.other("a negative number"); }
    bool number_unsigned(uint64_t value) { return to_.unsigned_integer(value); }
    template <class Text>
    bool number_float(double, const Text&) {
        return to_.other("a number that is no integer of 64 bits");
    }
    template <class Text>
    bool string(const Text& value) {
        return to_.text(value);
    }
    template <class Binary>
    bool binary(const Binary&) {
        return to_.other("bytes"); // which JSON has not
    }
    bool start_object(size_t) { return to_.begin_object(); }
    template <class Text>
    bool key(const Text& name) {
        return to_.key(name);
    }
    bool end_object() { return to_.end_object(); }
    bool start_array(size_t) { return to_.begin_array(); }
    bool end_array() { return to_.end_array(); }
    template <class Text, class Exception>
    bool parse_error(size_t position, const Text&, const Exception&) {
        position_ = position;
        is_malformed_ = true;
        return false;
    }

    [[nodiscard]] bool is_malformed() const noexcept { return is_malformed_; }
    /// Of the fault: the first character is 1.
    [[nodiscard]] size_t position() const noexcept { return position_; }

private:
    json_listener& to_;
    size_t position_ = 0;
    bool is_malformed_ = false;
};

/// Tells `to` what `text` says, which is one value and nothing behind it. Errors: json_malformed, and what the listener
/// says. Throws std::bad_alloc.
ZTENSOR_COLD inline result<void> parse_json(string_view text, json_listener& to) {
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos) { // which nlohmann takes for the end
        return fail(errc::json_malformed, "no well-formed JSON stands at character {}", {nul + 1});
    }
    json_events events(to);
    if (nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events)) {
        return {};
    }
    if (!events.is_malformed()) {
        return to.why();
    }
    return fail(errc::json_malformed, "no well-formed JSON stands at character {}", {events.position()});
}

#else

ZTENSOR_COLD inline result<void> parse_json(string_view, json_listener&) {
    return fail(errc::not_built_in,
                "this file has a header of JSON, and the library was built without nlohmann/json, which reads that");
}

#endif

// -- plain json
//
// The fast way through JSON as programs write it: no spaces, no escapes, no characters beyond ASCII, no numbers but
// whole ones. Anything else is left to json.hpp, which tells a listener the same of it; this takes a fifth of the time.

enum class plain_outcome : uint8_t {
    done,      ///< all was told
    refused,   ///< the listener did not want to go on, for good
    not_plain, ///< what was told is of no use: start again with parse_json() and another listener
};

/// Characters that a plain string holds.
inline constexpr std::array<bool, 256> plain_characters = [] {
    std::array<bool, 256> table{};
    for (size_t c = 0x20; c < 0x7f; ++c) {
        table[c] = c != '"' && c != '\\';
    }
    return table;
}();

/// Tells one listener what one text says. `Listener` is a json_listener, whose calls need not be virtual here.
template <class Listener>
class plain_json {
public:
    plain_json(string_view text, Listener& to) noexcept : at_(text.data()), end_(text.data() + text.size()), to_(to) {}

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
    static constexpr size_t most_depth = 8;

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
                string_view text;
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
        string_view name;
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

    bool take_text(string_view& text) noexcept {
        if (!take('"')) {
            return odd();
        }
        const char* const begin = at_;
        while (at_ != end_ && plain_characters[static_cast<unsigned char>(*at_)]) {
            ++at_;
        }
        text = {begin, static_cast<size_t>(at_ - begin)};
        return take('"') || odd();
    }

    bool take_number() {
        constexpr std::ptrdiff_t most_digits = 19; // any such number fits 64 bits
        const char* const begin = at_;
        uint64_t value = 0;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin < most_digits; ++at_) {
            value = value * 10 + static_cast<uint64_t>(*at_ - '0');
        }
        const bool is_plain = at_ != begin && (*begin != '0' || at_ - begin == 1) && at_ != end_ &&
                              (*at_ == ',' || *at_ == ']' || *at_ == '}');
        return is_plain ? told(to_.unsigned_integer(value)) : odd();
    }

    const char* at_;
    const char* end_;
    Listener& to_;
    std::array<bool, most_depth> is_object_{};
    size_t depth_ = 0;
    bool is_odd_ = false;
    bool is_refused_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
