// SPDX-License-Identifier: MIT
//
// A pickled checkpoint, level by level, as names and what stands under them: nested dictionaries, lists and tuples
// become names with dots.
#ifndef ZTENSOR_DETAIL_FOREIGN_PT_CONTENT_HPP
#define ZTENSOR_DETAIL_FOREIGN_PT_CONTENT_HPP

#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/utf8.hpp>
#include <ztensor/detail/foreign/pickled.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>
#include <ztensor/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

[[nodiscard]] constexpr bool holds_values(pickle_kind kind) noexcept {
    return kind == pickle_kind::tuple || kind == pickle_kind::list || kind == pickle_kind::dictionary;
}

/// A single value of the checkpoint that is no tensor, as CBOR. Errors: pickle_refused.
[[nodiscard]] inline result<void> encode_pickled(const pickled& content, const pickle_value& value, cbor_encoder& out) {
    switch (value.kind) {
    case pickle_kind::none:
        out.null();
        return {};
    case pickle_kind::boolean:
        out.boolean(value.place != 0);
        return {};
    case pickle_kind::integer:
        out.integer(content.integer_of(value));
        return {};
    case pickle_kind::number:
        out.number(content.number_of(value));
        return {};
    case pickle_kind::text:
        if (is_utf8(content.text_of(value))) {
            out.text(content.text_of(value));
            return {};
        }
        out.byte_string(content.bytes_of(value)); // lone surrogates, which Python's texts may hold
        return {};
    case pickle_kind::byte_string:
    case pickle_kind::long_integer:
        out.byte_string(content.bytes_of(value));
        return {};
    case pickle_kind::global:
        if (pickle_globals[value.place].role == pickle_role::dtype) {
            out.text("torch." + std::string(pickle_globals[value.place].name));
            return {};
        }
        break;
    default:
        break;
    }
    return fail(errc::pickle_refused, "a value of the checkpoint is {}, which is neither a tensor nor an attribute",
                {name(value.kind)});
}

/// Walks through the checkpoint without recursion. Containers may be shared, or contain themselves, so that depth and
/// steps are bounded.
class pt_walk {
public:
    explicit pt_walk(const pickled& content) : content_(content), most_steps_(4096 + 4 * content.item_count) {}

    /// Calls `tensor(name, value)` and `attribute(name, value)`, which give a result<void>. `name_of_root` is that of a
    /// tensor that stands alone. Errors: name_invalid, pickle_malformed, pickle_refused, limit_exceeded; those of the
    /// calls.
    template <class Tensor, class Attribute>
    [[nodiscard]] result<void> run(const std::string& name_of_root, Tensor&& tensor, Attribute&& attribute) {
        const auto leaf = [&](const pickle_value& value) {
            return value.kind == pickle_kind::tensor ? tensor(name_, value) : attribute(name_, value);
        };
        if (!holds_values(content_.root.kind)) {
            name_ = name_of_root;
            return content_.root.kind == pickle_kind::tensor
                       ? leaf(content_.root)
                       : fail(errc::pickle_malformed, "the checkpoint is {}, not tensors", {name(content_.root.kind)});
        }
        levels_.push_back(level_of(content_.root, 0));
        while (!levels_.empty()) {
            pickle_value value;
            const result<bool> is_there = next(value);
            if (!is_there) {
                return is_there.error();
            }
            if (!*is_there) {
                levels_.pop_back();
                continue;
            }
            if (holds_values(value.kind)) {
                if (levels_.size() == most_levels) {
                    return fail(errc::pickle_malformed, "the checkpoint is nested more than {} deep", {most_levels});
                }
                levels_.push_back(level_of(value, name_.size()));
                continue;
            }
            if (name_.size() > max_name_bytes) { // before anybody keeps it: one long key may be part of many names
                return fail(errc::name_invalid, "a value of the checkpoint has a name of {} bytes, more than {}",
                            {name_.size(), max_name_bytes});
            }
            if (result<void> done = leaf(value); !done) {
                return std::move(done).error().in_object(name_);
            }
        }
        return {};
    }

private:
    static constexpr std::size_t most_levels = 64;

    struct level {
        pickle_items items;
        bool is_dictionary;
        std::size_t count;      ///< of items that were gone through
        std::size_t name_bytes; ///< of the container itself
    };

    [[nodiscard]] level level_of(const pickle_value& container, std::size_t name_bytes) const noexcept {
        return {pickle_items(content_, container), container.kind == pickle_kind::dictionary, 0, name_bytes};
    }

    /// The next value of the innermost level, and its name in name_; false where that has no more.
    [[nodiscard]] result<bool> next(pickle_value& value) {
        level& innermost = levels_.back();
        const pickle_value* const first = innermost.items.next(content_);
        if (first == nullptr) {
            return false;
        }
        if (++steps_ > most_steps_) {
            return fail(errc::limit_exceeded, "the checkpoint has more than {} values, some of them in several places",
                        {most_steps_});
        }
        name_.resize(innermost.name_bytes);
        if (innermost.name_bytes != 0) {
            name_ += '.';
        }
        if (!innermost.is_dictionary) {
            value = *first;
            name_ += std::to_string(innermost.count++);
            return true;
        }
        const pickle_value key = *first;
        value = *innermost.items.next(content_); // which come in pairs
        if (key.kind == pickle_kind::integer) {
            name_ += std::to_string(content_.integer_of(key));
            return true;
        }
        if (key.kind != pickle_kind::text) {
            return fail(errc::pickle_refused, "a key of the checkpoint is {}, neither a text nor an int",
                        {name(key.kind)});
        }
        name_ += content_.text_of(key);
        return true;
    }

    const pickled& content_;
    std::vector<level> levels_;
    std::string name_;
    std::size_t most_steps_; ///< few times as many as there are values, which checkpoints have in one place or two
    std::size_t steps_ = 0;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
