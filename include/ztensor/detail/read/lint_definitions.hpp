// SPDX-License-Identifier: MIT
//
// Lint and strict reading. Defines what lint.hpp declares.
#ifndef ZTENSOR_DETAIL_READ_LINT_DEFINITIONS_HPP
#define ZTENSOR_DETAIL_READ_LINT_DEFINITIONS_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/index_audit.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- names that look alike

struct alike {
    uint32_t character;
    char like;
};

/// The commonest: letters of Cyrillic and Greek that are drawn as Latin ones.
inline constexpr alike alike_letters[] = {
    {0x0391, 'a'}, {0x0392, 'b'}, {0x0395, 'e'}, {0x0396, 'z'}, {0x0397, 'h'}, {0x0399, 'i'}, {0x039a, 'k'},
    {0x039c, 'm'}, {0x039d, 'n'}, {0x039f, 'o'}, {0x03a1, 'p'}, {0x03a4, 't'}, {0x03a7, 'x'}, {0x03bf, 'o'},
    {0x03bd, 'v'}, {0x0405, 's'}, {0x0406, 'i'}, {0x0408, 'j'}, {0x0410, 'a'}, {0x0412, 'b'}, {0x0415, 'e'},
    {0x041a, 'k'}, {0x041c, 'm'}, {0x041d, 'h'}, {0x041e, 'o'}, {0x0420, 'p'}, {0x0421, 'c'}, {0x0422, 't'},
    {0x0425, 'x'}, {0x0430, 'a'}, {0x0435, 'e'}, {0x043e, 'o'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'},
    {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'},
};

/// A name as it looks at a glance, and what is odd about it by itself.
class glance {
public:
    explicit glance(string_view name) {
        while (!name.empty()) {
            take(name);
        }
        while (!folded_.empty() && folded_.back() == ' ') {
            folded_.pop_back();
            note("ends with a space");
        }
        const size_t spaces = (std::min)(folded_.find_first_not_of(' '), folded_.size());
        if (spaces != 0) {
            folded_.erase(0, spaces);
            note("starts with a space");
        }
    }

    [[nodiscard]] string&& take_folded() noexcept { return std::move(folded_); }
    /// Null for nothing.
    [[nodiscard]] const char* oddity() const noexcept { return oddity_; }

private:
    void note(const char* what) noexcept { oddity_ = oddity_ != nullptr ? oddity_ : what; }

    /// The next character of UTF-8 that was checked.
    void take(string_view& rest) {
        const auto lead = static_cast<unsigned char>(rest.front());
        const size_t size = lead < 0x80 ? 1 : (std::max<size_t>)(utf8_sequence_bytes(rest), 1);
        uint32_t character = size == 1 ? lead : lead & (0xffU >> (size + 1));
        for (size_t i = 1; i < size; ++i) {
            character = character << 6 | (static_cast<unsigned char>(rest[i]) & 0x3fU);
        }
        add(character, rest.substr(0, size));
        rest.remove_prefix(size);
    }

    void add(uint32_t character, string_view spelled) {
        const bool is_space = character == ' ' || character == 0xa0 || character == 0x3000 ||
                              (character >= 0x2000 && character <= 0x200a) || character == 0x202f;
        const bool is_invisible = (character >= 0x200b && character <= 0x200f) || character == 0xfeff ||
                                  (character >= 0x202a && character <= 0x202e) || character == 0xad ||
                                  (character >= 0x2060 && character <= 0x2069);
        if (character < 0x20 || character == 0x7f) {
            note("holds a control character");
        } else if (is_invisible) {
            note("holds an invisible character");
            return;
        } else if (character >= 0x300 && character <= 0x36f) {
            note("holds a combining mark, which other programs may compose with its letter");
            return;
        }
        if (is_space) {
            folded_ += ' ';
            return;
        }
        if (character < 0x80) {
            folded_ += character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a')
                                                            : static_cast<char>(character);
            return;
        }
        const bool is_full_width = character >= 0xff01 && character <= 0xff5e;
        const alike* const found = std::find_if(std::begin(alike_letters), std::end(alike_letters),
                                                [&](const alike& each) { return each.character == character; });
        if (is_full_width) {
            add(character - 0xff01 + '!', {});
        } else if (found != std::end(alike_letters)) {
            folded_ += found->like;
        } else {
            folded_ += spelled;
        }
    }

    string folded_;
    const char* oddity_ = nullptr;
};

inline void look_at_names(const manifest& index, vector<lint_finding>& found) {
    vector<std::pair<string, uint32_t>> seen;
    for (uint32_t i = 0; i < index.objects.size(); ++i) {
        const string_view name = index.name_of(i);
        glance at(name);
        if (at.oddity() != nullptr) {
            found.push_back({lint_kind::lookalike_names,
                             string(name),
                             {},
                             sentence("the name {} {}", {in_quotes(name), at.oddity()})});
        }
        seen.emplace_back(at.take_folded(), i);
    }
    std::sort(seen.begin(), seen.end());
    for (size_t i = 1; i < seen.size(); ++i) {
        if (seen[i].first == seen[i - 1].first) {
            const string_view name = index.name_of(seen[i].second);
            found.push_back({lint_kind::lookalike_names,
                             string(name),
                             {},
                             sentence("the name {} looks like {}",
                                      {in_quotes(name), in_quotes(index.name_of(seen[i - 1].second))})});
        }
    }
}

// -- digests, and other formats

inline void look_at_digests(const manifest& index, vector<lint_finding>& found) {
    uint64_t missing = 0;
    lint_finding first{lint_kind::missing_digest, {}, {}, {}};
    for (const object_record& object : index.objects) {
        for (const component_record& each : index.components_of(object)) {
            if (!each.digest_text.is_present() && missing++ == 0) {
                first.object = string(index.text(object.name));
                first.component = string(role_name(index, each));
            }
        }
    }
    if (missing != 0) {
        first.sentence = sentence("{} of {} components have no digest: damage to them goes unnoticed",
                                  {missing, index.components.size()});
        found.push_back(std::move(first));
    }
}

/// An end record may have a comment of 64 KiB behind it, which hides all of a small index.
inline result<void> look_for_zip(const byte_source& source, vector<lint_finding>& found) {
    constexpr size_t record_bytes = 22;
    const uint64_t size = source.size();
    const auto looked_at = static_cast<size_t>((std::min<uint64_t>)(size, 0xffff + record_bytes));
    vector<byte> end(looked_at);
    ZTENSOR_TRY(source.read_at(size - looked_at, end));
    for (size_t at = looked_at < record_bytes ? 0 : looked_at - record_bytes + 1; at-- != 0;) {
        const bool is_record = load_little(&end[at], 4) == 0x06054b50;
        const uint64_t comment = is_record ? load_little(&end[at + record_bytes - 2], 2) : 0;
        if (is_record && comment <= looked_at - at - record_bytes) {
            found.push_back({lint_kind::zip_end_record,
                             {},
                             {},
                             sentence("at byte {} stands the end record of a ZIP archive, for which others may take "
                                      "the file",
                                      {size - looked_at + at})});
            return {};
        }
    }
    return {};
}

} // namespace detail

ZTENSOR_INLINE std::string_view name(lint_kind kind) noexcept {
    constexpr std::array<std::string_view, 8> names = {
        "non_canonical_cbor", "unsorted_names", "unreferenced_bytes", "nonzero_padding",
        "shared_blob",        "zip_end_record", "lookalike_names",    "missing_digest",
    };
    return names[static_cast<std::size_t>(kind)];
}

ZTENSOR_INLINE result<std::vector<lint_finding>> lint(const reader& file) {
    return detail::guard_memory([&]() -> result<std::vector<lint_finding>> {
        const detail::opened_file& opened = detail::reader_access::file_of(file);
        if (opened.joined != nullptr) {
            std::vector<lint_finding> all;
            for (const reader& each : file.files()) {
                ZTENSOR_TRY_ASSIGN(const std::vector<lint_finding> one, lint(each));
                all.insert(all.end(), one.begin(), one.end());
            }
            return all;
        }
        if (opened.index.is_foreign()) {
            return detail::fail(errc::unsupported_container, "lint looks at .zt files, and this is one of format {}",
                                {name(opened.index.container)})
                .in_file(opened.path);
        }
        std::vector<lint_finding> found;
        result<void> looked = detail::index_audit(opened, found, true).run();
        if (looked) {
            looked = detail::look_for_zip(*opened.source, found);
        }
        if (!looked) {
            return std::move(looked).error().in_file(opened.path);
        }
        detail::look_at_names(opened.index, found);
        detail::look_at_digests(opened.index, found);
        return found;
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
