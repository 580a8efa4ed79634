// SPDX-License-Identifier: MIT
//
// Reads a pickle of any protocol. A pickle is a program, and this machine has no instruction that could do anything but
// make the values of pickle_values.hpp: what would be made by names that are not known stays an object that is not
// made.
#ifndef ZTENSOR_DETAIL_IMPORT_PICKLE_MACHINE_HPP
#define ZTENSOR_DETAIL_IMPORT_PICKLE_MACHINE_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/import/pickle_opcodes.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

class pickle_machine : pickle_values {
public:
    /// `pickle` must live as long as what is made of it, and takes the fourth part of the memory that there is for
    /// both, besides 32 MiB and `more_memory`.
    explicit pickle_machine(bytes_view pickle, std::uint64_t more_memory = 0) : pickle_values(pickle, more_memory) {}

    /// What ids of the oldest files stand for: a tensor, which is added to the values.
    using by_number = std::function<result<pickle_value>(std::int64_t, pickled&, import_budget&)>;

    /// `tensors` is null for all files but the oldest. Errors: pickle_malformed; pickle_refused for opcodes that are
    /// not known, and for what makes no sense to PyTorch; limit_exceeded.
    [[nodiscard]] result<pickled> run(const by_number* tensors = nullptr) {
        by_number_ = tensors;
        if (!made_.values.push_back({}, budget_)) { // a tuple of no items, which all such share
            return pickle_takes_too_much();
        }
        while (!is_over_) {
            std::uint64_t opcode = 0;
            if (!from_.take_unsigned(1, opcode)) {
                return cut_off();
            }
            ZTENSOR_TRY(carry_out(static_cast<char>(opcode)));
        }
        return std::move(made_);
    }

private:
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
            return push_instance();
        case 'o':
            return push_object();
        case '\x81':
            return push_new_object(1);
        case '\x92':
            return push_new_object(2);
        case '0':
            return pop();
        case '1':
            return pop_marked();
        case '2':
            return duplicate();
        case 'I':
        case 'L':
            return push_line_integer();
        case 'F':
            return push_line_number();
        case 'S':
            return push_line_text(true);
        case 'V':
            return push_line_text(false);
        case 'U':
            return push_bytes(1, pickle_kind::text);
        case 'T':
            return push_bytes(4, pickle_kind::text);
        case '\x96':
            return push_bytes(8, pickle_kind::byte_string);
        case 'p':
            return put_by_line();
        case 'g':
            return get_by_line();
        case 'l':
            return push_marked_container(pickle_kind::list);
        case 'd':
            return push_marked_container(pickle_kind::dictionary);
        case '\x8f':
            return push_container(pickle_kind::set);
        case '\x90':
            return extend_by_marked(pickle_kind::set);
        case '\x91':
            return push_marked_container(pickle_kind::set);
        case 'P':
            return load_by_line();
        default:
            return fail(errc::pickle_refused, "the pickle has opcode {} at byte {}, which no checkpoint has",
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
    // -- names

    [[nodiscard]] result<void> push_global(std::string_view module, std::string_view name) {
        const result<pickle_value> known = find_global(made_, module, name, budget_);
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
        if (name.kind != pickle_kind::text || module.kind != pickle_kind::text || name.is_decoded ||
            module.is_decoded) {
            return malformed("a global is named by other than texts");
        }
        return push_global(made_.text_of(module), made_.text_of(name));
    }
    // -- what names make

    [[nodiscard]] result<void> push_instance() {
        std::string_view module;
        std::string_view name;
        if (!from_.take_line(module) || !from_.take_line(name)) {
            return cut_off();
        }
        ZTENSOR_TRY_ASSIGN(const pickle_value type, find_global(made_, module, name, budget_));
        ZTENSOR_TRY(push_marked_tuple());
        pickle_value arguments;
        static_cast<void>(stack_.pop(arguments));
        return push_object_of(type, {arguments});
    }
    /// A class and the arguments for it, above a mark.
    [[nodiscard]] result<void> push_object() {
        ZTENSOR_TRY(push_marked_tuple());
        pickle_value all;
        static_cast<void>(stack_.pop(all));
        return made_.count_of(all) != 0 && is_name(made_.item_of(all, 0)) ? push_object_of(made_.item_of(all, 0), {all})
                                                                          : malformed("an object has no class");
    }
    /// Of a class, its arguments, and perhaps such with names.
    [[nodiscard]] result<void> push_new_object(std::size_t arguments) {
        pickle_value named;
        pickle_value listed;
        pickle_value type;
        if ((arguments == 2 && !stack_.pop(named)) || !stack_.pop(listed) || !stack_.pop(type)) {
            return empty_stack();
        }
        if (!is_name(type) || listed.kind != pickle_kind::tuple) {
            return malformed("other than a class makes an object, or of other than a tuple");
        }
        if (type.kind == pickle_kind::global && pickle_globals[type.place].role == pickle_role::dictionary &&
            made_.count_of(listed) == 0) {
            return push_container(pickle_kind::dictionary);
        }
        return arguments == 2 ? push_object_of(type, {listed, named}) : push_object_of(type, {listed});
    }
    [[nodiscard]] static bool is_name(const pickle_value& value) noexcept {
        return value.kind == pickle_kind::global || value.kind == pickle_kind::unknown_global ||
               value.kind == pickle_kind::object;
    }

    [[nodiscard]] result<void> reduce() {
        pickle_value arguments;
        pickle_value callable;
        if (!stack_.pop(arguments) || !stack_.pop(callable)) {
            return empty_stack();
        }
        if (!is_name(callable) || arguments.kind != pickle_kind::tuple) {
            return malformed("other than a global is called, or with other than a tuple");
        }
        const bool is_known = callable.kind == pickle_kind::global;
        const pickle_role role = is_known ? pickle_globals[callable.place].role : pickle_role();
        const bool is_numpy = role == pickle_role::numpy_array || role == pickle_role::numpy_dtype;
        if (!is_known || is_numpy) { // whose parts say what it is
            return push_object_of(callable, {arguments});
        }
        const result<pickle_value> value = rebuild(made_, pickle_globals[callable.place], arguments, budget_);
        return value ? push(*value) : value.error();
    }

    /// The state of an object that is not made is part of it. What dictionaries and tensors have besides their content,
    /// such as the versions of modules, is no content of the checkpoint.
    [[nodiscard]] result<void> build() {
        pickle_value state;
        if (!stack_.pop(state) || stack_.size() == 0) {
            return empty_stack();
        }
        const pickle_value target = stack_.top();
        if (target.kind == pickle_kind::object) {
            return add_state(target, state);
        }
        const bool has_attributes = target.kind == pickle_kind::tensor || target.kind == pickle_kind::storage ||
                                    target.kind == pickle_kind::unknown_global;
        return has_attributes || (target.kind == pickle_kind::dictionary && state.kind == pickle_kind::dictionary)
                   ? result<void>()
                   : fail(errc::pickle_refused, "the pickle sets the state of {} at byte {}, which is refused",
                          {name(target.kind), from_.position()});
    }
    /// Of classes with slots the state is a pair: a dictionary or None, and another one.
    [[nodiscard]] result<void> add_state(const pickle_value& object, const pickle_value& state) {
        const bool is_pair = state.kind == pickle_kind::tuple && made_.count_of(state) == 2 &&
                             made_.item_of(state, 1).kind == pickle_kind::dictionary;
        if (!is_pair) {
            return splice(made_, object, state, budget_);
        }
        const pickle_value first = made_.item_of(state, 0);
        const pickle_value slots = made_.item_of(state, 1);
        result<void> added = splice(made_, object, first, budget_);
        return added ? splice(made_, object, slots, budget_) : added;
    }

    [[nodiscard]] result<void> load_storage() {
        pickle_value id;
        if (!stack_.pop(id)) {
            return empty_stack();
        }
        return load(id);
    }
    [[nodiscard]] result<void> load_by_line() {
        std::string_view line;
        if (!from_.take_line(line)) {
            return cut_off();
        }
        const result<pickle_value> id = add_decoded(made_, pickle_kind::text, as_bytes(line), budget_);
        return id ? load(*id) : id.error();
    }
    /// What an id stands for: a storage, or in files from before archives the class of a module, with its source; in
    /// the oldest files a tensor, by a number.
    [[nodiscard]] result<void> load(const pickle_value& id) {
        if (id.kind == pickle_kind::tuple && made_.count_of(id) == 4 &&
            made_.item_of(id, 0).kind == pickle_kind::text && made_.text_of(made_.item_of(id, 0)) == "module" &&
            is_name(made_.item_of(id, 1))) {
            return push(made_.item_of(id, 1));
        }
        if (by_number_ != nullptr) {
            return load_by_number(id);
        }
        if (id.kind == pickle_kind::text) {
            return fail(errc::pickle_refused, "the pickle asks for something outside of it by the id {}",
                        {in_quotes(made_.text_of(id))});
        }
        const result<pickle_value> storage = rebuild_storage(made_, id, budget_);
        return storage ? push(*storage) : storage.error();
    }
    [[nodiscard]] result<void> load_by_number(const pickle_value& id) {
        std::int64_t number = 0;
        const bool is_number = id.kind == pickle_kind::integer;
        if (is_number) {
            number = made_.integer_of(id);
        } else if (id.kind != pickle_kind::text || !parse_integer_line(made_.text_of(id), number)) {
            return malformed("an id is no number");
        }
        const result<pickle_value> value = (*by_number_)(number, made_, budget_);
        return value ? push(*value) : value.error();
    }

    const by_number* by_number_ = nullptr;
    bool is_over_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
