// SPDX-License-Identifier: MIT
//
// A pickled checkpoint, level by level, as names and what stands under them: nested dictionaries, lists and tuples
// become names with dots.
#ifndef ZTENSOR_DETAIL_IMPORT_PT_CONTENT_HPP
#define ZTENSOR_DETAIL_IMPORT_PT_CONTENT_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/import/pickle_rebuild.hpp>
#include <ztensor/detail/import/pickle_stream.hpp>
#include <ztensor/detail/import/pickle_values.hpp>
#include <ztensor/format.hpp>
#include <ztensor/result.hpp>

#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// A single value of the checkpoint that is neither a tensor nor holds others, and is written as CBOR.
[[nodiscard]] inline bool is_attribute(const pickle_value& value) noexcept {
    return value.kind <= pickle_kind::byte_string ||
           (value.kind == pickle_kind::global && pickle_globals[value.place].role == pickle_role::dtype);
}

/// Of an attribute.
inline void encode_pickled(const pickled& content, const pickle_value& value, cbor_encoder& out) {
    switch (value.kind) {
    case pickle_kind::none:
        return out.null();
    case pickle_kind::boolean:
        return out.boolean(value.place != 0);
    case pickle_kind::integer:
        return out.integer(content.integer_of(value));
    case pickle_kind::number:
        return out.number(content.number_of(value));
    case pickle_kind::global:
        return out.text("torch." + string(pickle_globals[value.place].name));
    default: // other texts than UTF-8 are lone surrogates, which Python's may hold
        value.kind == pickle_kind::text&& is_utf8(content.text_of(value)) ? out.text(content.text_of(value))
                                                                          : out.byte_string(content.bytes_of(value));
    }
}

/// The name of a class or function.
[[nodiscard]] inline string describe_type(const pickled& content, const pickle_value& type) {
    const pickle_global* const known = type.kind == pickle_kind::global ? &pickle_globals[type.place] : nullptr;
    const pickle_name name = known != nullptr ? pickle_name{known->module, known->name} : content.names[type.place];
    return sentence("{} of module {}", {in_quotes(name.name), in_quotes(name.module)});
}

/// What the names of a part of the checkpoint start with.
struct pt_names {
    string of_root; ///< the name of a tensor or an object that stands alone
    string front;   ///< stands in front of all other names, with a dot between; "" for nothing
};

/// Walks through the checkpoint without recursion, and calls `visitor`:
///     result<void> tensor(const std::string& name, const pickle_value&): a tensor, a storage, or an array or scalar of
///         NumPy whose numbers can be read
///     result<void> attribute(const std::string& name, const pickle_value&)
///     result<void> skip(const std::string& name, std::string why)
/// Containers may be shared, or contain themselves: those without tensors are gone through once, and none within
/// itself. Depth and steps are bounded.
template <class Visitor>
class pt_walk {
public:
    pt_walk(const pickled& content, Visitor& visitor)
        : content_(content), visitor_(visitor), most_steps_(4096 + 4 * content.item_count),
          of_runs_(content.values.size()), of_containers_(content.containers.size()) {}

    /// Errors: name_invalid, pickle_malformed, limit_exceeded; those of the visitor.
    result<void> run(const pt_names& names) {
        if (is_leaf(content_.root)) {
            name_ = names.of_root;
            if (is_attribute(content_.root)) {
                return fail(errc::pickle_malformed, "the checkpoint is {}, not tensors", {name(content_.root.kind)});
            }
            return in_object(visit(content_.root, company::plain), name_);
        }
        if (content_.root.kind == pickle_kind::object) {
            ZTENSOR_TRY(skip_object(names.of_root, content_.root, false));
        }
        name_ = names.front;
        enter(content_.root, name_.size(), company::plain);
        while (!levels_.empty()) {
            if (result<void> done = step(); !done) {
                return std::move(done).error().in_object(name_);
            }
        }
        return {};
    }

private:
    static constexpr size_t most_levels = 1024;

    enum class visited : uint8_t { never, open, without_tensors, with_tensors };

    /// What a value belongs to.
    enum class company : uint8_t {
        plain,
        script, ///< a module of TorchScript, whose state is all that it holds
        object, ///< one that is not made, and goes with what is no tensor in it
    };

    struct level {
        pickle_value container;
        pickle_items items;
        size_t count;      ///< of items that were gone through
        size_t name_bytes; ///< of the container itself
        company inside;
        bool has_tensors;

        [[nodiscard]] bool has_keys() const noexcept {
            return container.kind == pickle_kind::dictionary || container.kind == pickle_kind::object;
        }
    };

    [[nodiscard]] visited& state_of(const pickle_value& container) noexcept {
        return container.kind == pickle_kind::tuple ? of_runs_[container.place]
                                                    : of_containers_[content_.container_of(container)];
    }

    /// A tensor, an attribute, or what is skipped, but nothing that holds others.
    [[nodiscard]] bool is_leaf(const pickle_value& value) const {
        return !holds_values(value.kind) || is_numpy_array(content_, value);
    }
    /// Classes that an archive of TorchScript has the code of.
    [[nodiscard]] bool is_of_script(const pickle_value& object) const noexcept {
        constexpr string_view script = "__torch__";
        const pickle_value type = content_.objects[object.place].type;
        const string_view module =
            type.kind == pickle_kind::unknown_global ? content_.names[type.place].module : string_view();
        return module == script || (module.substr(0, script.size()) == script && module[script.size()] == '.');
    }

    void enter(const pickle_value& container, size_t name_bytes, company of) {
        state_of(container) = visited::open;
        if (container.kind == pickle_kind::object && of != company::object) {
            of = is_of_script(container) ? company::script : company::object;
        }
        levels_.push_back({container, pickle_items(content_, container), 0, name_bytes, of, false});
    }
    void leave() {
        const bool has_tensors = levels_.back().has_tensors;
        state_of(levels_.back().container) = has_tensors ? visited::with_tensors : visited::without_tensors;
        levels_.pop_back();
        if (!levels_.empty()) {
            levels_.back().has_tensors = levels_.back().has_tensors || has_tensors;
        }
    }

    result<void> skip_object(const string& name, const pickle_value& object, bool is_inside) {
        if (is_of_script(object)) {
            return {};
        }
        if (is_of_role(content_, object, pickle_role::numpy_array)) {
            const pickled_array array = read_numpy_array(content_, object);
            return visitor_.skip(name,
                                 sentence("it is made of NumPy's type {}, {}", {in_quotes(array.type), array.why}));
        }
        if (is_of_role(content_, object, pickle_role::numpy_dtype)) {
            return is_inside ? result<void>() : visitor_.skip(name, "it is a type of NumPy, without an array");
        }
        const pickle_value type = content_.objects[object.place].type;
        if (type.kind == pickle_kind::global) {
            return visitor_.skip(name, describe_unlisted(object));
        }
        return visitor_.skip(name, "it is an object of " + describe_type(content_, type) +
                                       ", which is not run: the tensors in it are read, and nothing else");
    }

    /// Why an object of a known function is not made: what in its arguments, which are its first part, is not known.
    [[nodiscard]] string describe_unlisted(const pickle_value& object) const {
        const string by = "it is made by " + describe_type(content_, content_.objects[object.place].type);
        pickle_items parts(content_, object);
        static_cast<void>(parts.next()); // the key, which names nothing
        const pickle_value* const arguments = parts.next();
        for (size_t i = 0; arguments != nullptr && i < most_items_looked_at; ++i) {
            const pickle_value each = content_.item_or_none(*arguments, i);
            const bool is_object = each.kind == pickle_kind::object;
            if (is_object || each.kind == pickle_kind::unknown_global) {
                return by + " of " + describe_type(content_, is_object ? content_.objects[each.place].type : each) +
                       ", which is not known";
            }
        }
        return by + " in a way that is not known";
    }

    result<void> step() {
        const pickle_value* const first = levels_.back().items.next();
        if (first == nullptr) {
            leave();
            return {};
        }
        if (++steps_ > most_steps_) {
            return fail(errc::limit_exceeded, "the checkpoint has more than {} values, some of them in several places",
                        {most_steps_});
        }
        level& innermost = levels_.back();
        const bool has_key = innermost.has_keys();
        const pickle_value value = has_key ? *innermost.items.next() : *first; // which come in pairs
        const bool is_named = name_item(innermost, has_key ? *first : pickle_value(), value);
        if (!is_named) {
            return visitor_.skip(name_, "its key is " + string(name(first->kind)) + ", which can't be in a name");
        }
        return is_leaf(value) ? visit(value, innermost.inside) : step_into(value);
    }

    result<void> step_into(const pickle_value& value) {
        const level& innermost = levels_.back();
        const visited before = state_of(value);
        if (value.kind == pickle_kind::tuple && value.place == 0) { // an empty one
            return {};
        }
        if (before == visited::open || before == visited::without_tensors) {
            const char* const why = before == visited::open ? "it lies within itself"
                                                            : "it is one object with another, which is read before";
            return innermost.inside != company::plain ? result<void>() : visitor_.skip(name_, why);
        }
        if (levels_.size() == most_levels) {
            return fail(errc::pickle_malformed, "the checkpoint is nested more than {} deep", {most_levels});
        }
        if (value.kind == pickle_kind::object && before == visited::never) {
            ZTENSOR_TRY(skip_object(name_, value, innermost.inside != company::plain));
        }
        enter(value, name_.size(), innermost.inside);
        return {};
    }

    result<void> visit(const pickle_value& value, company inside) {
        const bool is_tensor = value.kind == pickle_kind::tensor || value.kind == pickle_kind::storage ||
                               value.kind == pickle_kind::object; // of NumPy
        if (!is_tensor && (inside == company::object || (inside == company::script && is_flag_of_modules(name_)))) {
            return {};
        }
        if (name_.size() > max_name_bytes) { // before anybody keeps it: one long key may be part of many names
            return fail(errc::name_invalid, "a value of the checkpoint has a name of {} bytes, more than {}",
                        {name_.size(), max_name_bytes});
        }
        if (is_tensor) {
            if (!levels_.empty()) {
                levels_.back().has_tensors = true;
            }
            return visitor_.tensor(name_, value);
        }
        if (is_attribute(value)) {
            return visitor_.attribute(name_, value);
        }
        return visitor_.skip(name_, "it is " + (value.kind == pickle_kind::unset
                                                    ? string("nothing")
                                                    : describe_type(content_, value) + ", which is not run"));
    }

    /// The name of an item in name_; false where its key can't be in one.
    [[nodiscard]] bool name_item(level& innermost, const pickle_value& key, const pickle_value& value) {
        name_.resize(innermost.name_bytes);
        const bool is_of_module = innermost.inside != company::plain && value.kind == pickle_kind::dictionary &&
                                  is_dictionary_of_module(content_.text_or_none(key));
        if (key.kind == pickle_kind::spliced || is_of_module) {
            return true;
        }
        if (innermost.name_bytes != 0) {
            name_ += '.';
        }
        if (!innermost.has_keys() || key.kind == pickle_kind::unnamed) {
            name_ += std::to_string(innermost.count++);
            return true;
        }
        return append_key(key);
    }
    /// What every module of TorchScript has, which says nothing of it.
    [[nodiscard]] static bool is_flag_of_modules(string_view name) noexcept {
        const string_view last = name.substr(name.find_last_of('.') + 1);
        return last == "training" || last == "_is_full_backward_hook";
    }
    /// A state_dict() leaves them out of its names.
    [[nodiscard]] static bool is_dictionary_of_module(string_view key) noexcept {
        return key == "_parameters" || key == "_buffers" || key == "_modules";
    }
    [[nodiscard]] bool append_key(const pickle_value& key) {
        switch (key.kind) {
        case pickle_kind::integer:
            name_ += std::to_string(content_.integer_of(key));
            return true;
        case pickle_kind::text:
            name_ += content_.text_of(key);
            return true;
        case pickle_kind::boolean:
            name_ += key.place != 0 ? "True" : "False";
            return true;
        case pickle_kind::none:
            name_ += "None";
            return true;
        case pickle_kind::number:
            name_ += print_number(content_.number_of(key));
            return true;
        case pickle_kind::tuple:
            return append_tuple(key);
        default:
            name_ += '?';
            return false;
        }
    }
    /// As Python prints it. Tuples in it may be shared, but each adds to a name, which has an end.
    [[nodiscard]] bool append_tuple(const pickle_value& key) {
        struct open_tuple {
            pickle_value tuple;
            size_t next;
        };
        vector<open_tuple> open = {{key, 0}};
        name_ += '(';
        while (!open.empty()) {
            const pickle_value tuple = open.back().tuple;
            const size_t i = open.back().next++;
            const size_t count = content_.count_of(tuple);
            if (name_.size() > max_name_bytes) {
                return false;
            }
            if (i == count) {
                name_ += count == 1 ? ",)" : ")";
                open.pop_back();
                continue;
            }
            name_ += i == 0 ? "" : ", ";
            const pickle_value& item = content_.item_of(tuple, i);
            if (item.kind == pickle_kind::tuple) {
                name_ += '(';
                open.push_back({item, 0});
                continue;
            }
            const char* const quote = item.kind == pickle_kind::text ? "'" : "";
            name_ += quote;
            if (!append_key(item)) {
                return false;
            }
            name_ += quote;
        }
        return true;
    }

    const pickled& content_;
    Visitor& visitor_;
    vector<level> levels_;
    string name_;
    size_t most_steps_; ///< few times as many as there are values, which checkpoints have in one place or two
    size_t steps_ = 0;
    vector<visited> of_runs_; ///< by the place of a tuple
    vector<visited> of_containers_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
