// SPDX-License-Identifier: MIT
//
// The values that a pickle works on: those on the stack, those that it remembers, and those in containers. Knows the
// forms that values have, but no opcode.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_OPCODES_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_OPCODES_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_values {
public:
    pickle_values(const pickle_values&) = delete;
    pickle_values& operator=(const pickle_values&) = delete;

protected:
    pickle_values(bytes_view pickle, std::uint64_t more_memory)
        : from_(pickle), budget_(pickle_budget(pickle.size(), more_memory)), stack_(budget_) {
        made_.source = pickle;
    }
    ~pickle_values() = default;

    // What torch.save needs is far below these.
    static constexpr std::size_t most_values = std::size_t{1} << 24; ///< in tuples, lists and dictionaries

    [[nodiscard]] error malformed(const char* what) const {
        return fail(errc::pickle_malformed, "the pickle breaks a rule at byte {}: {}", {from_.position(), what});
    }
    [[nodiscard]] error cut_off() const { return malformed("it is cut off"); }
    [[nodiscard]] error empty_stack() const { return malformed("an opcode finds nothing to work on"); }

    [[nodiscard]] result<void> push(const pickle_value& value) {
        return stack_.push(value) ? result<void>() : pickle_takes_too_much();
    }
    [[nodiscard]] result<void> push(pickle_kind kind, std::size_t place, std::size_t width = 0,
                                    bool is_signed = false) {
        return push({kind, static_cast<std::uint8_t>(width), is_signed, false, static_cast<std::uint32_t>(place)});
    }

    [[nodiscard]] result<void> count_values(std::size_t more) {
        values_ += more;
        return values_ <= most_values
                   ? result<void>()
                   : fail(errc::limit_exceeded, "the pickle holds more than {} values", {most_values});
    }

    [[nodiscard]] result<void> mark() { return stack_.mark() ? result<void>() : pickle_takes_too_much(); }
    [[nodiscard]] result<void> push_integer(std::size_t size, bool is_signed) {
        const std::size_t place = from_.position();
        bytes_view bytes;
        return from_.take(size, bytes) ? push(pickle_kind::integer, place, size, is_signed) : cut_off();
    }
    /// Two's complement of any length, least significant byte first.
    [[nodiscard]] result<void> push_long(std::size_t size_bytes) {
        std::uint64_t size = 0;
        const std::size_t place = from_.position();
        bytes_view bytes;
        if (!from_.take_unsigned(size_bytes, size) || !from_.take(size, bytes)) {
            return cut_off();
        }
        return size > 8 ? push(pickle_kind::long_integer, place, size_bytes)
                        : push(pickle_kind::integer, place + size_bytes, static_cast<std::size_t>(size), true);
    }
    [[nodiscard]] result<void> push_number() {
        const std::size_t place = from_.position();
        bytes_view bytes;
        return from_.take(8, bytes) ? push(pickle_kind::number, place) : cut_off();
    }
    [[nodiscard]] result<void> push_bytes(std::size_t size_bytes, pickle_kind kind) {
        std::uint64_t size = 0;
        bytes_view bytes;
        const std::size_t place = from_.position();
        return from_.take_unsigned(size_bytes, size) && from_.take(size, bytes) ? push(kind, place, size_bytes)
                                                                                : cut_off();
    }

    [[nodiscard]] result<void> push_marked_tuple() {
        std::size_t count = 0;
        return stack_.pop_mark(count) ? push_tuple(count) : empty_stack();
    }
    [[nodiscard]] result<void> push_tuple(std::size_t count) {
        if (count > stack_.size()) {
            return empty_stack();
        }
        if (count == 0) {
            return push(pickle_kind::tuple, 0);
        }
        const std::size_t place = made_.values.size();
        ZTENSOR_TRY(add_run(count, false));
        return push(pickle_kind::tuple, place);
    }
    /// Moves the uppermost values into a run of their own.
    [[nodiscard]] result<void> add_run(std::size_t count, bool may_go_on) {
        ZTENSOR_TRY(count_values(count));
        return append_run(made_, stack_, count, may_go_on, budget_);
    }
    [[nodiscard]] result<void> push_container(pickle_kind kind) {
        const result<pickle_value> made = make_container(made_, kind, budget_);
        return made ? push(*made) : made.error();
    }
    [[nodiscard]] result<void> extend_by_marked(pickle_kind kind) {
        std::size_t count = 0;
        return stack_.pop_mark(count) ? extend(kind, count) : empty_stack();
    }
    /// Moves the uppermost values into the container below them.
    [[nodiscard]] result<void> extend(pickle_kind kind, std::size_t count) {
        if (count >= stack_.size() || (kind == pickle_kind::dictionary && count % 2 != 0)) {
            return empty_stack();
        }
        const pickle_value target = stack_.at(count + 1, 0);
        if (target.kind == pickle_kind::object) {
            return extend_object(target, kind, count);
        }
        if (target.kind != kind) {
            return malformed("items are added to what does not hold such");
        }
        if (count == 0) {
            return {};
        }
        const auto run = static_cast<std::uint32_t>(made_.values.size());
        ZTENSOR_TRY(add_run(count, true));
        join_run(made_, made_.containers[target.place], run);
        return {};
    }

    /// Items of a dictionary or a list whose class is not known, below which they stand.
    [[nodiscard]] result<void> extend_object(const pickle_value& object, pickle_kind kind, std::size_t count) {
        const std::size_t step = kind == pickle_kind::dictionary ? 2 : 1;
        pickle_value key;
        key.kind = pickle_kind::unnamed;
        ZTENSOR_TRY(count_values(2 * count));
        for (std::size_t i = 0; i < count; i += step) {
            key = step == 2 ? stack_.at(count, i) : key;
            ZTENSOR_TRY(append_items(made_, object, {key, stack_.at(count, i + step - 1)}, budget_));
        }
        stack_.drop(count);
        return {};
    }
    /// A list or a dictionary of all above the mark.
    [[nodiscard]] result<void> push_marked_container(pickle_kind kind) {
        std::size_t count = 0;
        if (!stack_.pop_mark(count) || (kind == pickle_kind::dictionary && count % 2 != 0)) {
            return empty_stack();
        }
        ZTENSOR_TRY_ASSIGN(const pickle_value container, make_container(made_, kind, budget_));
        if (count != 0) {
            const auto run = static_cast<std::uint32_t>(made_.values.size());
            ZTENSOR_TRY(add_run(count, true));
            join_run(made_, made_.containers[container.place], run);
        }
        return push(container);
    }
    [[nodiscard]] result<void> pop() {
        pickle_value value;
        std::size_t count = 0;
        return stack_.pop(value) || stack_.pop_mark(count) ? result<void>() : empty_stack();
    }
    [[nodiscard]] result<void> pop_marked() {
        std::size_t count = 0;
        if (!stack_.pop_mark(count)) {
            return empty_stack();
        }
        stack_.drop(count);
        return {};
    }
    [[nodiscard]] result<void> duplicate() { return stack_.size() != 0 ? push(stack_.top()) : empty_stack(); }

    /// An object that is not made, which holds the arguments that are no empty tuples.
    [[nodiscard]] result<void> push_object_of(const pickle_value& type, std::initializer_list<pickle_value> arguments) {
        ZTENSOR_TRY_ASSIGN(const pickle_value object, make_object(made_, type, budget_));
        for (const pickle_value& each : arguments) {
            if (each.kind == pickle_kind::tuple && made_.count_of(each) == 0) {
                continue;
            }
            ZTENSOR_TRY(splice(made_, object, each, budget_));
        }
        return push(object);
    }

    // -- lines of text

    [[nodiscard]] result<void> push_decoded(pickle_kind kind, bytes_view content) {
        const result<pickle_value> value = add_decoded(made_, kind, content, budget_);
        return value ? push(*value) : value.error();
    }
    /// A number of 8 bytes, in the order that its kind has in a pickle.
    [[nodiscard]] result<void> push_eight(pickle_kind kind, std::uint64_t bits) {
        std::byte content[8];
        kind == pickle_kind::number ? store_big(bits, content, 8) : store_little(bits, content, 8);
        ZTENSOR_TRY_ASSIGN(pickle_value value, add_decoded(made_, kind, content, budget_));
        value.place += 8; // behind the length
        value.is_signed = true;
        return push(value);
    }
    [[nodiscard]] result<void> push_line_integer() {
        std::string_view line;
        if (!from_.take_line(line)) {
            return cut_off();
        }
        if (line == "00" || line == "01") {
            return push(pickle_kind::boolean, line == "01" ? 1 : 0);
        }
        if (!line.empty() && line.back() == 'L') {
            line.remove_suffix(1);
        }
        std::int64_t value = 0;
        return parse_integer_line(line, value) ? push_eight(pickle_kind::integer, static_cast<std::uint64_t>(value))
                                               : push_decoded(pickle_kind::text, as_bytes(line)); // of many digits
    }
    [[nodiscard]] result<void> push_line_number() {
        std::string_view line;
        double value = 0;
        if (!from_.take_line(line)) {
            return cut_off();
        }
        if (!parse_number_line(line, value)) {
            return malformed("a line is no number");
        }
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        return push_eight(pickle_kind::number, bits);
    }
    [[nodiscard]] result<void> push_line_text(bool is_quoted) {
        std::string_view line;
        std::string text;
        if (!from_.take_line(line)) {
            return cut_off();
        }
        if (!(is_quoted ? decode_quoted_line(line, text) : decode_unicode_line(line, text))) {
            return malformed("a text's quotes or escapes are not whole");
        }
        return push_decoded(pickle_kind::text, as_bytes(text));
    }
    [[nodiscard]] result<void> put_by_line() {
        std::string_view line;
        std::int64_t place = 0;
        return from_.take_line(line) && parse_integer_line(line, place) && place >= 0
                   ? remember(static_cast<std::uint64_t>(place))
                   : malformed("it remembers a value under no number");
    }
    [[nodiscard]] result<void> get_by_line() {
        std::string_view line;
        std::int64_t place = 0;
        return from_.take_line(line) && parse_integer_line(line, place) && place >= 0
                   ? recall(static_cast<std::uint64_t>(place))
                   : malformed("it recalls a value by no number");
    }

    [[nodiscard]] result<void> put(std::size_t size) {
        std::uint64_t place = 0;
        return from_.take_unsigned(size, place) ? remember(place) : cut_off();
    }
    /// Picklers number what they remember, but need not use every number.
    [[nodiscard]] result<void> remember(std::uint64_t place) {
        if (stack_.size() == 0) {
            return empty_stack();
        }
        if (place >= made_.source.size()) {
            return malformed("it remembers more values than it has bytes");
        }
        pickle_value unset;
        unset.kind = pickle_kind::unset;
        while (memo_.size() <= place) {
            ZTENSOR_TRY(count_values(1));
            if (!memo_.push_back(unset, budget_)) {
                return pickle_takes_too_much();
            }
        }
        memo_[static_cast<std::size_t>(place)] = stack_.top();
        return {};
    }
    [[nodiscard]] result<void> get(std::size_t size) {
        std::uint64_t place = 0;
        return from_.take_unsigned(size, place) ? recall(place) : cut_off();
    }
    [[nodiscard]] result<void> recall(std::uint64_t place) {
        const pickle_value* const found = place < memo_.size() ? &memo_[static_cast<std::size_t>(place)] : nullptr;
        return found != nullptr && found->kind != pickle_kind::unset
                   ? push(*found)
                   : malformed("it recalls a value that it has not remembered");
    }

    pickled made_;
    pickle_bytes from_;
    import_budget budget_;
    pickle_stack stack_;
    block_array<pickle_value> memo_;
    std::size_t values_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
