// SPDX-License-Identifier: MIT
//
// Reads a pickle of any protocol. A pickle is a program, and this machine has no instruction that could do anything but
// make the values of pickle_values.hpp: what would be made by names that are not known stays an object that is not
// made.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_MACHINE_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_MACHINE_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <functional>
#include <initializer_list>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_machine {
public:
    /// `pickle` must live as long as what is made of it, and takes the fourth part of the memory that there is for
    /// both, besides 32 MiB and `more_memory`.
    explicit pickle_machine(bytes_view pickle, uint64_t more_memory = 0)
        : made_(pickle, pickle.size(), more_memory), from_(pickle) {}

    /// What ids of the oldest files stand for: a tensor, which is added to the values.
    using by_number = std::function<result<pickle_value>(int64_t, pickled&)>;

    /// `tensors` is null for all files but the oldest. Errors: pickle_malformed; pickle_refused for opcodes that are
    /// not known, and for what makes no sense to PyTorch; limit_exceeded.
    result<pickled> run(const by_number* tensors = nullptr) {
        by_number_ = tensors;
        while (next_.code != '.') {
            if (!from_.take(next_)) {
                return malformed("it is cut off");
            }
            ZTENSOR_TRY(carry_out());
            ZTENSOR_TRY(made_.check_limits(memo_.size()));
            if (stack_.size() > most_on_stack || marks_.size() > most_on_stack) {
                return pickle_takes_too_much();
            }
        }
        return std::move(made_);
    }

private:
    static constexpr size_t most_on_stack = size_t{1} << 20; ///< far more than torch.save needs

    result<void> carry_out() {
        switch (next_.code) {
        case '\x80':
            return next_.value >= 2 && next_.value <= 5
                       ? result<void>()
                       : fail(errc::unsupported_version, "the pickle is of protocol {}; 2 to 5 can be read",
                              {next_.value});
        case '\x95': // a frame's length, which says nothing that its content does not
            return {};
        case '.':
            return stop();
        case '(':
            marks_.push_back(static_cast<uint32_t>(stack_.size()), made_.budget);
            return {};
        case 'N':
            return push({});
        case '\x88':
        case '\x89':
            return push(value_of(pickle_kind::boolean, next_.code == '\x88'));
        case 'K':
        case 'M':
        case 'J':
            return push(value_of(pickle_kind::integer, next_.place, next_.width, next_.code == 'J'));
        case '\x8a': // two's complement of any length, least significant byte first
        case '\x8b':
            return push(next_.value > 8 ? value_of(pickle_kind::long_integer, next_.place, next_.width)
                                        : value_of(pickle_kind::integer, next_.place + next_.width,
                                                   static_cast<size_t>(next_.value), true));
        case 'G':
            return push(value_of(pickle_kind::number, next_.place));
        case '\x8c':
        case 'X':
        case '\x8d':
        case 'U':
        case 'T':
            return push(value_of(pickle_kind::text, next_.place, next_.width));
        case 'C':
        case 'B':
        case '\x8e':
        case '\x96':
            return push(value_of(pickle_kind::byte_string, next_.place, next_.width));
        case 'I':
        case 'L':
            return push_line_integer(next_.lines[0]);
        case 'F':
            return push_line_number(next_.lines[0]);
        case 'S':
        case 'V':
            return push_line_text(next_.lines[0]);
        case ')':
            return push_tuple(0);
        case '\x85':
        case '\x86':
        case '\x87':
            return push_tuple(static_cast<size_t>(next_.code - '\x84'));
        case 't':
            return pop_mark() ? push_tuple(marked_) : nothing_there();
        case ']':
            return push(made_.make_container(pickle_kind::list));
        case '}':
            return push(made_.make_container(pickle_kind::dictionary));
        case '\x8f':
            return push(made_.make_container(pickle_kind::set));
        case 'l':
            return push_container(pickle_kind::list);
        case 'd':
            return push_container(pickle_kind::dictionary);
        case '\x91':
            return push_container(pickle_kind::set);
        case 'a':
            return extend(pickle_kind::list, 1);
        case 's':
            return extend(pickle_kind::dictionary, 2);
        case 'e':
            return pop_mark() ? extend(pickle_kind::list, marked_) : nothing_there();
        case 'u':
            return pop_mark() ? extend(pickle_kind::dictionary, marked_) : nothing_there();
        case '\x90':
            return pop_mark() ? extend(pickle_kind::set, marked_) : nothing_there();
        case 'c':
            return push(made_.find_global(next_.lines[0], next_.lines[1]));
        case '\x93':
            return push_global();
        case 'R':
            return reduce();
        case 'b':
            return build();
        case 'i':
            return push_instance();
        case 'o':
            return push_object();
        case '\x81':
            return push_new_object(false);
        case '\x92':
            return push_new_object(true);
        case 'Q':
            return size() != 0 ? load(pop()) : nothing_there();
        case 'P':
            return load(made_.add_decoded(pickle_kind::text, as_bytes(next_.lines[0])));
        case 'q':
        case 'r':
            return remember(next_.value);
        case '\x94':
            return remember(memo_.size());
        case 'h':
        case 'j':
            return recall(next_.value);
        case 'p':
        case 'g':
            return use_line_of_memo(next_.lines[0]);
        case '0':
            if (size() == 0) {
                return pop_mark() ? result<void>() : nothing_there();
            }
            stack_.truncate(stack_.size() - 1);
            return {};
        case '1':
            if (!pop_mark()) {
                return nothing_there();
            }
            stack_.truncate(stack_.size() - marked_);
            return {};
        case '2':
            return size() != 0 ? push(stack_.back()) : nothing_there();
        default:
            return fail(errc::pickle_refused, "the pickle has opcode {} at byte {}, which no checkpoint has",
                        {static_cast<unsigned>(static_cast<unsigned char>(next_.code)), next_.place - 1});
        }
    }

    [[nodiscard]] error malformed(const char* what) const {
        return fail(errc::pickle_malformed, "the pickle breaks a rule at byte {}: {}", {from_.position(), what});
    }
    [[nodiscard]] error nothing_there() const { return malformed("an opcode finds nothing to work on"); }

    result<void> stop() {
        if (marks_.size() != 0 || stack_.size() != 1) {
            return malformed("it ends with other than one value");
        }
        if (!from_.is_at_end()) {
            return malformed("bytes follow its end");
        }
        made_.root = stack_.back();
        return {};
    }

    // -- the stack, with marks in it: no opcode reaches below the last mark

    /// How many values stand above the last mark, or in all where there is none.
    [[nodiscard]] size_t size() const noexcept { return stack_.size() - (marks_.size() == 0 ? 0 : marks_.back()); }
    result<void> push(const pickle_value& value) {
        stack_.push_back(value, made_.budget);
        return {};
    }
    /// Checked before: there is one.
    [[nodiscard]] pickle_value pop() noexcept {
        const pickle_value value = stack_.back();
        stack_.truncate(stack_.size() - 1);
        return value;
    }
    /// Takes the last mark away; marked_ is how many values stood above it, which stay. False where there is none.
    [[nodiscard]] bool pop_mark() noexcept {
        marked_ = size();
        const bool is_there = marks_.size() != 0;
        marks_.truncate(marks_.size() - (is_there ? 1 : 0));
        return is_there;
    }
    /// The i-th of the uppermost `count` values, from the lowest of these on.
    [[nodiscard]] auto uppermost(size_t count) const noexcept {
        return [this, first = stack_.size() - count](size_t i) { return stack_[first + i]; };
    }

    // -- tuples, lists, sets and dictionaries, of the uppermost values

    result<void> push_tuple(size_t count) {
        if (count > size()) {
            return nothing_there();
        }
        const size_t run = count == 0 ? 0 : made_.add_run(count, false, uppermost(count));
        stack_.truncate(stack_.size() - count);
        return push(value_of(pickle_kind::tuple, run));
    }
    /// Of all above the mark.
    result<void> push_container(pickle_kind kind) {
        if (!pop_mark()) {
            return nothing_there();
        }
        const pickle_value container = made_.make_container(kind);
        ZTENSOR_TRY(append(container, kind, marked_));
        return push(container);
    }
    /// Moves the uppermost values into the container below them.
    result<void> extend(pickle_kind kind, size_t count) {
        if (count >= size()) {
            return nothing_there();
        }
        const pickle_value target = uppermost(count + 1)(0);
        if (target.kind != pickle_kind::object && target.kind != kind) {
            return malformed("items are added to what does not hold such");
        }
        return append(target, kind, count);
    }
    /// Items of a dictionary, or of a list, may be those of an object whose class is not known.
    result<void> append(const pickle_value& target, pickle_kind kind, size_t count) {
        const auto items = uppermost(count);
        const bool has_keys = kind == pickle_kind::dictionary;
        if (has_keys && count % 2 != 0) {
            return nothing_there();
        }
        if (target.kind != pickle_kind::object && count != 0) {
            made_.append(target, count, items);
        }
        const size_t step = has_keys ? 2 : 1;
        for (size_t i = 0; target.kind == pickle_kind::object && i < count; i += step) {
            made_.append_pair(target, has_keys ? items(i) : value_of(pickle_kind::unnamed), items(i + step - 1));
            ZTENSOR_TRY(made_.check_limits());
        }
        stack_.truncate(stack_.size() - count);
        return {};
    }

    // -- lines of text

    result<void> push_line_integer(string_view line) {
        if (line == "00" || line == "01") {
            return push(value_of(pickle_kind::boolean, line == "01"));
        }
        line.remove_suffix(!line.empty() && line.back() == 'L' ? 1 : 0);
        int64_t value = 0;
        if (parse_integer_line(line, value)) {
            return push(made_.make_integer(static_cast<uint64_t>(value)));
        }
        const string_view digits = line.substr(!line.empty() && line[0] == '-' ? 1 : 0);
        if (digits.empty() || digits.find_first_not_of("0123456789") != string_view::npos) {
            return malformed("a line is no integer");
        }
        return push(made_.add_decoded(pickle_kind::text, as_bytes(line))); // of many digits
    }
    result<void> push_line_number(string_view line) {
        double value = 0;
        if (!parse_number_line(line, value)) {
            return malformed("a line is no number");
        }
        byte content[8];
        store_big(bits_as<uint64_t>(value), content, sizeof content);
        return push(made_.add_eight(pickle_kind::number, content));
    }
    result<void> push_line_text(string_view line) {
        string text;
        if (!(next_.code == 'S' ? decode_quoted_line(line, text) : decode_unicode_line(line, text))) {
            return malformed("a text's quotes or escapes are not whole");
        }
        return push(made_.add_decoded(pickle_kind::text, as_bytes(text)));
    }

    // -- what is remembered

    /// Picklers number what they remember, but need not use every number.
    result<void> remember(uint64_t place) {
        if (size() == 0) {
            return nothing_there();
        }
        if (place >= made_.source.size()) {
            return malformed("it remembers more values than it has bytes");
        }
        while (memo_.size() <= place) {
            memo_.push_back(value_of(pickle_kind::unset), made_.budget);
            ZTENSOR_TRY(made_.check_limits(memo_.size()));
        }
        memo_[static_cast<size_t>(place)] = stack_.back();
        return {};
    }
    result<void> recall(uint64_t place) {
        const pickle_value found =
            place < memo_.size() ? memo_[static_cast<size_t>(place)] : value_of(pickle_kind::unset);
        return found.kind != pickle_kind::unset ? push(found)
                                                : malformed("it recalls a value that it has not remembered");
    }
    result<void> use_line_of_memo(string_view line) {
        int64_t place = 0;
        if (!parse_integer_line(line, place) || place < 0) {
            return malformed("it remembers or recalls a value by no number");
        }
        const auto number = static_cast<uint64_t>(place);
        return next_.code == 'p' ? remember(number) : recall(number);
    }

    // -- what names make

    [[nodiscard]] static bool is_name(const pickle_value& value) noexcept {
        return value.kind == pickle_kind::global || value.kind == pickle_kind::unknown_global ||
               value.kind == pickle_kind::object;
    }

    result<void> push_global() {
        if (size() < 2) {
            return nothing_there();
        }
        const pickle_value name = pop(), module = pop();
        if (name.kind != pickle_kind::text || module.kind != pickle_kind::text || name.is_decoded ||
            module.is_decoded) {
            return malformed("a global is named by other than texts");
        }
        return push(made_.find_global(made_.text_of(module), made_.text_of(name)));
    }

    /// An object that is not made, which holds the arguments that are no empty tuples.
    result<void> push_object_of(const pickle_value& type, std::initializer_list<pickle_value> arguments) {
        const pickle_value object = made_.make_object(type);
        for (const pickle_value& each : arguments) {
            if (!made_.is_tuple_of(each, 0)) {
                made_.splice(object, each);
            }
        }
        return push(object);
    }
    result<void> push_instance() {
        const pickle_value type = made_.find_global(next_.lines[0], next_.lines[1]);
        if (!pop_mark()) {
            return nothing_there();
        }
        ZTENSOR_TRY(push_tuple(marked_));
        return push_object_of(type, {pop()});
    }
    /// A class and the arguments for it, above a mark.
    result<void> push_object() {
        if (!pop_mark()) {
            return nothing_there();
        }
        ZTENSOR_TRY(push_tuple(marked_));
        const pickle_value all = pop(), type = made_.item_or_none(all, 0);
        return is_name(type) ? push_object_of(type, {all}) : malformed("an object has no class");
    }
    /// Of a class, its arguments, and perhaps such with names.
    result<void> push_new_object(bool has_named) {
        if (size() < (has_named ? 3 : 2)) {
            return nothing_there();
        }
        const pickle_value named = has_named ? pop() : value_of(pickle_kind::tuple);
        const pickle_value listed = pop(), type = pop();
        if (!is_name(type) || listed.kind != pickle_kind::tuple) {
            return malformed("other than a class makes an object, or of other than a tuple");
        }
        if (type.kind == pickle_kind::global && pickle_globals[type.place].role == pickle_role::dictionary &&
            made_.is_tuple_of(listed, 0)) {
            return push(made_.make_container(pickle_kind::dictionary));
        }
        return push_object_of(type, {listed, named});
    }

    result<void> reduce() {
        if (size() < 2) {
            return nothing_there();
        }
        const pickle_value arguments = pop(), callable = pop();
        if (!is_name(callable) || arguments.kind != pickle_kind::tuple) {
            return malformed("other than a global is called, or with other than a tuple");
        }
        const bool is_known = callable.kind == pickle_kind::global;
        const pickle_role role = is_known ? pickle_globals[callable.place].role : pickle_role();
        const bool is_numpy = role == pickle_role::numpy_array || role == pickle_role::numpy_dtype;
        if (!is_known || is_numpy) { // whose parts say what it is
            return push_object_of(callable, {arguments});
        }
        if (role == pickle_role::of_type) {
            return reduce_to_type(callable, arguments);
        }
        const pickle_global& global = pickle_globals[callable.place];
        result<pickle_value> value = rebuild(made_, global, arguments);
        if (!value && is_unlisted_call(made_, global, arguments, value.error().code())) {
            return push_object_of(callable, {arguments});
        }
        return value ? push(*value) : std::move(value).error();
    }
    /// Another function, the class that its result gets, its arguments, and a state. Of tensors of classes of their own
    /// the function makes no elements: the tensors that they are made of are in the state.
    result<void> reduce_to_type(const pickle_value& callable, const pickle_value& arguments) {
        const pickle_value function = made_.item_or_none(arguments, 0), inner = made_.item_or_none(arguments, 2);
        const bool is_known = function.kind == pickle_kind::global;
        const pickle_global& global = pickle_globals[is_known ? function.place : callable.place];
        if (!made_.is_tuple_of(arguments, 4) || !is_name(function) || inner.kind != pickle_kind::tuple ||
            (is_known && global.role == pickle_role::of_type)) {
            return wrong_arguments(pickle_globals[callable.place]);
        }
        result<pickle_value> value = is_known ? rebuild(made_, global, inner) : whole_of_dtensor(made_, arguments);
        if (value && value->kind != pickle_kind::none) {
            return push(*value);
        }
        if (!value && !is_unlisted_call(made_, global, inner, value.error().code())) {
            return std::move(value).error();
        }
        const pickle_value type = made_.item_of(arguments, 1);
        ZTENSOR_TRY(push_object_of(is_name(type) ? type : function, {inner}));
        splice_state(stack_.back(), made_.item_of(arguments, 3));
        return {};
    }

    /// The state of an object that is not made is part of it; of classes with slots it is a pair of a dictionary or
    /// None, and another one. What dictionaries and tensors have besides their content, such as the versions of
    /// modules, is no content of the checkpoint.
    result<void> build() {
        if (size() < 2) {
            return nothing_there();
        }
        const pickle_value state = pop(), target = stack_.back();
        if (target.kind == pickle_kind::object) {
            splice_state(target, state);
            return {};
        }
        const bool has_attributes = target.kind == pickle_kind::tensor || target.kind == pickle_kind::storage ||
                                    target.kind == pickle_kind::unknown_global;
        return has_attributes || (target.kind == pickle_kind::dictionary && state.kind == pickle_kind::dictionary)
                   ? result<void>()
                   : fail(errc::pickle_refused, "the pickle sets the state of {} at byte {}, which is refused",
                          {name(target.kind), from_.position()});
    }

    void splice_state(const pickle_value& object, const pickle_value& state) {
        const bool is_pair = made_.is_tuple_of(state, 2) && made_.item_of(state, 1).kind == pickle_kind::dictionary;
        made_.splice(object, is_pair ? made_.item_of(state, 0) : state);
        if (is_pair) {
            made_.splice(object, made_.item_of(state, 1));
        }
    }

    // -- what is outside of the pickle

    /// What an id stands for: a storage, or in files from before archives the class of a module, with its source; in
    /// the oldest files a tensor, by a number.
    result<void> load(const pickle_value& id) {
        if (made_.is_tuple_of(id, 4) && made_.text_or_none(made_.item_of(id, 0)) == "module" &&
            is_name(made_.item_of(id, 1))) {
            return push(made_.item_of(id, 1));
        }
        if (by_number_ == nullptr) {
            if (id.kind == pickle_kind::text) {
                return fail(errc::pickle_refused, "the pickle asks for something outside of it by the id {}",
                            {in_quotes(made_.text_of(id))});
            }
            const pickle_value type = made_.item_or_none(id, 1);
            const bool has_fields = made_.is_tuple_of(id, 5) || made_.is_tuple_of(id, 6);
            if (has_fields && type.kind == pickle_kind::unknown_global &&
                made_.text_or_none(made_.item_of(id, 0)) == "storage") { // of elements that are not known
                return push_object_of(type, {});
            }
            ZTENSOR_TRY_ASSIGN(const pickle_value storage, rebuild_storage(made_, id));
            return push(storage);
        }
        int64_t number = 0;
        if (id.kind == pickle_kind::integer) {
            number = made_.integer_of(id);
        } else if (!parse_integer_line(made_.text_or_none(id), number)) {
            return malformed("an id is no number");
        }
        ZTENSOR_TRY_ASSIGN(const pickle_value value, (*by_number_)(number, made_));
        return push(value);
    }

    pickled made_;
    pickle_bytes from_;
    pickle_opcode next_; ///< that is carried out
    block_array<pickle_value> stack_;
    block_array<uint32_t> marks_; ///< how many values stood on the stack then
    size_t marked_ = 0;           ///< see pop_mark()
    block_array<pickle_value> memo_;
    const by_number* by_number_ = nullptr;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
