// SPDX-License-Identifier: MIT
//
// Models of GGUF in several files, called NAME-00001-of-00003.gguf and so on: which file is which part.
#ifndef ZTENSOR_DETAIL_FOREIGN_GGUF_PARTS_HPP
#define ZTENSOR_DETAIL_FOREIGN_GGUF_PARTS_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/core/text.hpp>
#include <ztensor/detail/foreign/gguf_header.hpp>
#include <ztensor/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// The name of a part, taken apart.
class gguf_part_name {
public:
    /// Nothing for a name of another form.
    [[nodiscard]] static std::optional<gguf_part_name> parse(std::string_view file_name) {
        constexpr std::size_t end_bytes = 20; // -00001-of-00003.gguf
        if (file_name.size() < end_bytes) {
            return std::nullopt;
        }
        gguf_part_name made;
        made.before_ = file_name.substr(0, file_name.size() - end_bytes + 1);
        const std::string_view end = file_name.substr(made.before_.size() - 1);
        made.behind_ = end.substr(6);
        const bool is_of_form = end[0] == '-' && end.substr(6, 4) == "-of-" && end[15] == '.';
        const std::optional<std::uint64_t> number = number_of(end.substr(1, digits));
        const std::optional<std::uint64_t> count = number_of(end.substr(10, digits));
        if (!is_of_form || !number || !count) {
            return std::nullopt;
        }
        made.number_ = *number;
        made.count_ = *count;
        return made;
    }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; } ///< from 1 on
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// What the part of that number, from 1 to count(), is called.
    [[nodiscard]] std::string name_of(std::uint64_t number) const { return before_ + five_digits(number) + behind_; }
    [[nodiscard]] static std::string five_digits(std::uint64_t number) {
        const std::string text = std::to_string(number);
        return std::string(digits - (std::min)(digits, text.size()), '0') + text;
    }

private:
    static constexpr std::size_t digits = 5;

    [[nodiscard]] static std::optional<std::uint64_t> number_of(std::string_view text) noexcept {
        std::uint64_t number = 0;
        for (const char digit : text) {
            if (digit < '0' || digit > '9') {
                return std::nullopt;
            }
            number = number * 10 + static_cast<std::uint64_t>(digit - '0');
        }
        return number;
    }

    std::string before_; ///< up to the number
    std::string behind_;
    std::uint64_t number_ = 0;
    std::uint64_t count_ = 0;
};

/// The names of the parts of a model whose first part says `first` and was opened by the name `file_name`. Errors:
/// shard_mismatch for a part that is not the first, which names the one to open; shard_missing, if the name does not
/// tell those of the others.
[[nodiscard]] ZTENSOR_COLD inline result<gguf_part_name> name_gguf_parts(const gguf_part& first,
                                                                         std::string_view file_name) {
    const std::optional<gguf_part_name> name = gguf_part_name::parse(file_name);
    const bool is_named_so = name && name->number() == first.number + 1 && name->count() == first.count;
    if (first.number >= first.count) {
        return fail(errc::header_malformed, "split.no is {}, but split.count is {}", {first.number, first.count});
    }
    if (first.number != 0) {
        const std::string to_open = is_named_so ? sentence(", {}", {in_quotes(name->name_of(1))}) : std::string();
        return fail(errc::shard_mismatch, "the file is part {} of {} of a model: open part 1{}, which opens all",
                    {first.number + 1, first.count, to_open});
    }
    if (!is_named_so) {
        return fail(errc::shard_missing,
                    "part 2 of {} can't be found: the file is part 1, but is not called NAME-00001-of-{}.gguf",
                    {first.count, gguf_part_name::five_digits(first.count)});
    }
    return *name;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
