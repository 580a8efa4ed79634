// SPDX-License-Identifier: MIT
//
// JSON -> what it says, one piece after the other, with no tree in between. Besides json.hpp the only room that knows
// nlohmann/json, whose parser for events keeps its place in a vector of bits and never recurses.
#ifndef ZTENSOR_DETAIL_FOREIGN_JSON_HPP
#define ZTENSOR_DETAIL_FOREIGN_JSON_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

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
    [[nodiscard]] virtual bool key(std::string_view name) = 0;
    [[nodiscard]] virtual bool end_object() = 0;
    [[nodiscard]] virtual bool begin_array() = 0;
    [[nodiscard]] virtual bool end_array() = 0;
    [[nodiscard]] virtual bool unsigned_integer(std::uint64_t value) = 0;
    [[nodiscard]] virtual bool text(std::string_view value) = 0;
    [[nodiscard]] virtual bool boolean(bool) { return other("a truth value"); }
    /// A value of any other kind, such as "a negative number".
    [[nodiscard]] virtual bool other(const char* what) = 0;
    [[nodiscard]] virtual bool null() = 0;

    /// Why it does not want to go on.
    [[nodiscard]] virtual error why() const = 0;

protected:
    ~json_listener() = default;
};

#if __has_include(<nlohmann/json.hpp>) && !defined(ZTENSOR_WITHOUT_JSON)

/// nlohmann's events -> ours.
class json_events {
public:
    explicit json_events(json_listener& to) noexcept : to_(to) {}

    bool null() { return to_.null(); }
    bool boolean(bool value) { return to_.boolean(value); }
    bool number_integer(std::int64_t) { return to_.other("a negative number"); }
    bool number_unsigned(std::uint64_t value) { return to_.unsigned_integer(value); }
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
    bool start_object(std::size_t) { return to_.begin_object(); }
    template <class Text>
    bool key(const Text& name) {
        return to_.key(name);
    }
    bool end_object() { return to_.end_object(); }
    bool start_array(std::size_t) { return to_.begin_array(); }
    bool end_array() { return to_.end_array(); }
    template <class Text, class Exception>
    bool parse_error(std::size_t position, const Text&, const Exception&) {
        position_ = position;
        is_malformed_ = true;
        return false;
    }

    [[nodiscard]] bool is_malformed() const noexcept { return is_malformed_; }
    /// Of the fault: the first character is 1.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

private:
    json_listener& to_;
    std::size_t position_ = 0;
    bool is_malformed_ = false;
};

/// Tells `to` what `text` says, which is one value and nothing behind it. Errors: json_malformed, and what the listener
/// says. Throws std::bad_alloc.
[[nodiscard]] ZTENSOR_COLD inline result<void> parse_json(std::string_view text, json_listener& to) {
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) { // which nlohmann takes for the end
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

[[nodiscard]] ZTENSOR_COLD inline result<void> parse_json(std::string_view, json_listener&) {
    return fail(errc::not_built_in,
                "this file has a header of JSON, and the library was built without nlohmann/json, which reads that");
}

#endif

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
