// SPDX-License-Identifier: MIT
//
// Reads a pickle of protocols 2 to 5 as torch.save writes those of checkpoints. The opcodes are a closed set, and so
// are the names: a pickle is a program, and this machine has no instruction that could do anything but make the values
// of pickled.hpp.
#ifndef ZTENSOR_DETAIL_FOREIGN_PICKLE_MACHINE_HPP
#define ZTENSOR_DETAIL_FOREIGN_PICKLE_MACHINE_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/block_array.hpp>
#include <ztensor/detail/foreign/pickle_bytes.hpp>
#include <ztensor/detail/foreign/pickle_rebuild.hpp>
#include <ztensor/detail/foreign/pickle_stack.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_machine {
public:
    /// `pickle` must live as long as what is made of it, and takes the fourth part of the memory that there is for
    /// both.
    explicit pickle_machine(bytes_view pickle)
        : from_(pickle), budget_(3 * std::uint64_t{pickle.size()} + slack_bytes), stack_(budget_) {
        made_.source = pickle;
    }

    /// Errors: pickle_malformed; pickle_refused for opcodes and globals outside the lists; limit_exceeded.
    [[nodiscard]] result<pickled> run() {
        if (!made_.values.push_back({}, budget_)) { // a tuple of no items, which all such share
            return pickle_takes_too_much();
        }
        while (!is_over_) {
            std::uint64_t opcode = 0;
            if (!from_.take_unsigned(1, opcode)) {
                return cut_off();
            }
            if (result<void> done = carry_out(static_cast<char>(opcode)); !done) {
                return std::move(done).error();
            }
        }
        return std::move(made_);
    }

private:
    // What torch.save needs is far below these.
    static constexpr std::size_t most_values = std::size_t{1} << 24; ///< in tuples, lists and dictionaries
    static constexpr std::size_t most_containers = std::size_t{1} << 22;
    static constexpr std::uint64_t slack_bytes = std::uint64_t{768} << 10; ///< blocks that are begun

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
        return push({kind, static_cast<std::uint8_t>(width), is_signed, static_cast<std::uint32_t>(place)});
    }

    [[nodiscard]] result<void> count_values(std::size_t more) {
        values_ += more;
        return values_ <= most_values
                   ? result<void>()
                   : fail(errc::limit_exceeded, "the pickle holds more than {} values", {most_values});
    }

    // -- opcodes

    [[nodiscard]] result<void> carry_out(char opcode) {
        switch (opcode) {
        case '\x80':
            return read_protocol();
        case '\x95': // a frame's length, which says nothing that its content does not
            return skip(8);
        case '.':
            return stop();
        case '(':
            return mark();
        case 'N':
            return push(pickle_kind::none, 0);
        case '\x88':
            return push(pickle_kind::boolean, 1);
        case '\x89':
            return push(pickle_kind::boolean, 0);
        case 'K':
            return push_integer(1, false);
        case 'M':
            return push_integer(2, false);
        case 'J':
            return push_integer(4, true);
        case '\x8a':
            return push_long(1);
        case '\x8b':
            return push_long(4);
        case 'G':
            return push_number();
        case '\x8c':
            return push_bytes(1, pickle_kind::text);
        case 'X':
            return push_bytes(4, pickle_kind::text);
        case '\x8d':
            return push_bytes(8, pickle_kind::text);
        case 'C':
            return push_bytes(1, pickle_kind::byte_string);
        case 'B':
            return push_bytes(4, pickle_kind::byte_string);
        case '\x8e':
            return push_bytes(8, pickle_kind::byte_string);
        case ')':
            return push_tuple(0);
        case '\x85':
            return push_tuple(1);
        case '\x86':
            return push_tuple(2);
        case '\x87':
            return push_tuple(3);
        case 't':
            return push_marked_tuple();
        case ']':
            return push_container(pickle_kind::list);
        case '}':
            return push_container(pickle_kind::dictionary);
        case 'a':
            return extend(pickle_kind::list, 1);
        case 'e':
            return extend_by_marked(pickle_kind::list);
        case 's':
            return extend(pickle_kind::dictionary, 2);
        case 'u':
            return extend_by_marked(pickle_kind::dictionary);
        case 'c':
            return push_global_of_lines();
        case '\x93':
            return push_global_of_texts();
        case 'R':
            return reduce();
        case 'b':
            return build();
        case 'Q':
            return load_storage();
        case 'q':
            return put(1);
        case 'r':
            return put(4);
        case '\x94':
            return remember(memo_.size());
        case 'h':
            return get(1);
        case 'j':
            return get(4);
        case 'i':
            return refuse_instance();
        default:
            return fail(errc::pickle_refused, "the pickle has opcode {} at byte {}, which no checkpoint needs",
                        {static_cast<unsigned>(static_cast<unsigned char>(opcode)), from_.position() - 1});
        }
    }

    [[nodiscard]] result<void> read_protocol() {
        std::uint64_t version = 0;
        if (!from_.take_unsigned(1, version)) {
            return cut_off();
        }
        return version >= 2 && version <= 5
                   ? result<void>()
                   : fail(errc::unsupported_version, "the pickle is of protocol {}; 2 to 5 can be read", {version});
    }
    [[nodiscard]] result<void> skip(std::uint64_t size) {
        bytes_view skipped;
        return from_.take(size, skipped) ? result<void>() : cut_off();
    }
    [[nodiscard]] result<void> stop() {
        is_over_ = true;
        if (!stack_.holds_one_value()) {
            return malformed("it ends with other than one value");
        }
        if (!from_.is_at_end()) {
            return malformed("bytes follow its end");
        }
        made_.root = stack_.top();
        return {};
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
        if (result<void> added = add_run(count, false); !added) {
            return added;
        }
        return push(pickle_kind::tuple, place);
    }
    /// Moves the uppermost values into a run of their own.
    [[nodiscard]] result<void> add_run(std::size_t count, bool may_go_on) {
        if (result<void> allowed = count_values(count); !allowed) {
            return allowed;
        }
        return append_run(made_, stack_, count, may_go_on, budget_);
    }
    [[nodiscard]] result<void> push_container(pickle_kind kind) {
        if (made_.containers.size() == most_containers) {
            return fail(errc::limit_exceeded, "the pickle holds more than {} lists and dictionaries",
                        {most_containers});
        }
        return made_.containers.push_back({}, budget_) ? push(kind, made_.containers.size() - 1)
                                                       : pickle_takes_too_much();
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
        if (target.kind != kind) {
            return malformed("items are added to what does not hold such");
        }
        if (count == 0) {
            return {};
        }
        const auto run = static_cast<std::uint32_t>(made_.values.size());
        if (result<void> added = add_run(count, true); !added) {
            return added;
        }
        join_run(made_, made_.containers[target.place], run);
        return {};
    }

    // -- names

    [[nodiscard]] result<void> push_global(std::string_view module, std::string_view name) {
        const result<pickle_value> known = find_global(module, name);
        return known ? push(*known) : known.error();
    }
    [[nodiscard]] result<void> push_global_of_lines() {
        std::string_view module;
        std::string_view name;
        return from_.take_line(module) && from_.take_line(name) ? push_global(module, name) : cut_off();
    }
    [[nodiscard]] result<void> push_global_of_texts() {
        pickle_value name;
        pickle_value module;
        if (!stack_.pop(name) || !stack_.pop(module)) {
            return empty_stack();
        }
        if (name.kind != pickle_kind::text || module.kind != pickle_kind::text) {
            return malformed("a global is named by other than texts");
        }
        return push_global(made_.text_of(module), made_.text_of(name));
    }
    [[nodiscard]] result<void> refuse_instance() {
        std::string_view module;
        std::string_view name;
        if (!from_.take_line(module) || !from_.take_line(name)) {
            return cut_off();
        }
        return fail(errc::pickle_refused, "the pickle asks for an instance of {} of module {}; nothing was run",
                    {in_quotes(name), in_quotes(module)});
    }

    // -- what names make

    [[nodiscard]] result<void> reduce() {
        pickle_value arguments;
        pickle_value callable;
        if (!stack_.pop(arguments) || !stack_.pop(callable)) {
            return empty_stack();
        }
        if (callable.kind != pickle_kind::global || arguments.kind != pickle_kind::tuple) {
            return malformed("other than a global is called, or with other than a tuple");
        }
        const pickle_global& global = pickle_globals[callable.place];
        if (global.role == pickle_role::dictionary && made_.count_of(arguments) == 0) {
            return push_container(pickle_kind::dictionary);
        }
        const result<pickle_value> value = rebuild(made_, global, arguments, budget_);
        return value ? push(*value) : value.error();
    }

    /// An OrderedDict's further attributes, such as the versions of modules: no content of the checkpoint.
    [[nodiscard]] result<void> build() {
        pickle_value state;
        if (!stack_.pop(state) || stack_.size() == 0) {
            return empty_stack();
        }
        return stack_.top().kind == pickle_kind::dictionary && state.kind == pickle_kind::dictionary
                   ? result<void>()
                   : fail(errc::pickle_refused, "the pickle sets the state of {} at byte {}, which is refused",
                          {name(stack_.top().kind), from_.position()});
    }

    [[nodiscard]] result<void> load_storage() {
        pickle_value id;
        if (!stack_.pop(id)) {
            return empty_stack();
        }
        const result<pickle_value> storage = rebuild_storage(made_, id, budget_);
        return storage ? push(*storage) : storage.error();
    }

    [[nodiscard]] result<void> put(std::size_t size) {
        std::uint64_t place = 0;
        return from_.take_unsigned(size, place) ? remember(place) : cut_off();
    }
    /// Picklers number what they remember: nobody skips a number.
    [[nodiscard]] result<void> remember(std::uint64_t place) {
        if (stack_.size() == 0) {
            return empty_stack();
        }
        if (place > memo_.size()) {
            return malformed("it remembers a value under a number that is not next");
        }
        if (place == memo_.size()) {
            if (result<void> allowed = count_values(1); !allowed) {
                return allowed;
            }
            if (!memo_.push_back(stack_.top(), budget_)) {
                return pickle_takes_too_much();
            }
        }
        memo_[static_cast<std::size_t>(place)] = stack_.top();
        return {};
    }
    [[nodiscard]] result<void> get(std::size_t size) {
        std::uint64_t place = 0;
        if (!from_.take_unsigned(size, place)) {
            return cut_off();
        }
        return place < memo_.size() ? push(memo_[static_cast<std::size_t>(place)])
                                    : malformed("it recalls a value that it has not remembered");
    }

    pickled made_;
    pickle_bytes from_;
    import_budget budget_;
    pickle_stack stack_;
    block_array<pickle_value> memo_;
    std::size_t values_ = 0;
    bool is_over_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
