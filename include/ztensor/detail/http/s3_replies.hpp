// SPDX-License-Identifier: MIT
//
// What S3 answers in XML, of which a few short values matter; and the one document that it is sent. Pure functions on
// text. Servers are hostile, so that what they send is parsed strictly, by one pass, and what is kept of it is short.
#ifndef ZTENSOR_DETAIL_HTTP_S3_REPLIES_HPP
#define ZTENSOR_DETAIL_HTTP_S3_REPLIES_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/http/messages.hpp>
#include <ztensor/result.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// "" for what the answer does not have.
struct s3_reply {
    string_view root; ///< the name of the root element, such as "Error"; a part of the text
    string code;      ///< of an error, such as "NoSuchKey": letters alone
    string region;    ///< of an error: where the bucket is
    string upload_id; ///< of an upload that has begun: printable ASCII
    string tag;       ///< of an object

    [[nodiscard]] bool is_error() const noexcept { return root == "Error"; }
};

/// What stands for characters of a text; the first ones are written, too.
inline constexpr std::pair<string_view, char> xml_references[] = {
    {"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}};
inline constexpr size_t written_xml_references = 4;

/// Takes elements one after the other. Everything that S3 does not send is refused: comments, CDATA, processing
/// instructions, definitions, and text beside elements.
class s3_reply_parser {
public:
    explicit s3_reply_parser(string_view text) noexcept : rest_(text) {}

    [[nodiscard]] optional<s3_reply> parse() {
        s3_reply found;
        skip_blanks();
        if (rest_.substr(0, 5) == "<?xml") {
            const size_t end = rest_.find("?>");
            if (end == string_view::npos || rest_.substr(2, end - 2).find_first_of("<>") != string_view::npos) {
                return std::nullopt;
            }
            rest_.remove_prefix(end + 2);
            skip_blanks();
        }
        tag root = take_tag();
        if (root.kind != tag_kind::begin && root.kind != tag_kind::empty) {
            return std::nullopt;
        }
        found.root = root.name;
        if (root.kind == tag_kind::begin && !take_children(found)) {
            return std::nullopt;
        }
        skip_blanks();
        return rest_.empty() ? optional<s3_reply>(std::move(found)) : std::nullopt;
    }

private:
    enum class tag_kind : uint8_t { none, begin, end, empty };
    struct tag {
        tag_kind kind = tag_kind::none;
        string_view name;
    };

    static constexpr size_t most_depth = 8;

    void skip_blanks() noexcept { rest_.remove_prefix((std::min)(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

    [[nodiscard]] static bool is_name(string_view name) noexcept {
        return name.size() <= 64 && is_made_of(name, "-_.:");
    }

    /// `none` for what is no tag. Attributes are skipped: only xmlns and its like are sent.
    [[nodiscard]] tag take_tag() noexcept {
        if (rest_.empty() || rest_.front() != '<') {
            return {};
        }
        size_t end = 1; // a '>' within quotes ends no tag
        for (char quote = 0; end < rest_.size() && (quote != 0 || rest_[end] != '>'); ++end) {
            const char c = rest_[end];
            if (c == '<') {
                return {};
            }
            quote = quote == c ? '\0' : quote == 0 && (c == '"' || c == '\'') ? c : quote;
        }
        if (end == rest_.size()) {
            return {};
        }
        string_view inside = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        tag found = {tag_kind::begin, {}};
        if (!inside.empty() && inside.front() == '/') {
            found.kind = tag_kind::end;
            inside.remove_prefix(1);
        } else if (!inside.empty() && inside.back() == '/') {
            found.kind = tag_kind::empty;
            inside.remove_suffix(1);
        }
        found.name = inside.substr(0, inside.find_first_of(" \t\r\n"));
        const string_view behind = inside.substr(found.name.size());
        const bool has_more = behind.find_first_not_of(" \t\r\n") != string_view::npos;
        const bool is_right = is_name(found.name) && (!has_more || found.kind != tag_kind::end);
        return is_right ? found : tag();
    }

    /// Up to the end tag of the root, whose begin has been taken.
    [[nodiscard]] bool take_children(s3_reply& found) {
        std::array<string_view, most_depth> open = {found.root};
        size_t depth = 1;
        bool has_child = false; // of the innermost open element: then no text may stand in it
        while (depth != 0) {
            const string_view text = rest_.substr(0, rest_.find('<'));
            rest_.remove_prefix(text.size());
            const tag next = take_tag();
            const bool is_blank = text.find_first_not_of(" \t\r\n") == string_view::npos;
            switch (next.kind) {
            case tag_kind::none:
                return false;
            case tag_kind::begin:
                if (!is_blank || depth == open.size()) {
                    return false;
                }
                open[depth++] = next.name;
                has_child = false;
                break;
            case tag_kind::empty:
                if (!is_blank) {
                    return false;
                }
                has_child = true;
                break;
            case tag_kind::end:
                if (open[depth - 1] != next.name || (has_child && !is_blank) || (depth == 1 && !is_blank)) {
                    return false;
                }
                if (depth == 2 && !has_child && !keep(found, next.name, text)) {
                    return false;
                }
                --depth;
                has_child = true;
                break;
            }
        }
        return true;
    }

    [[nodiscard]] static bool keep(s3_reply& found, string_view name, string_view text) {
        string* const to = name == "Code"       ? &found.code
                           : name == "Region"   ? &found.region
                           : name == "UploadId" ? &found.upload_id
                           : name == "ETag"     ? &found.tag
                                                : nullptr;
        if (to == nullptr) {
            return true;
        }
        constexpr size_t most_bytes = 2048;
        if (!to->empty() || text.empty() || text.size() > most_bytes || !decode(text, *to)) {
            return false;
        }
        if (to == &found.code) {
            return to->size() <= 64 && std::all_of(to->begin(), to->end(), [](char c) {
                       return is_ascii_alphanumeric(c) && !is_ascii_digit(c);
                   });
        }
        if (to == &found.region) {
            return to->size() <= 63 && is_made_of(*to, "-");
        }
        return std::all_of(to->begin(), to->end(), [](char c) { return c > ' ' && c < 0x7f; });
    }

    /// With its references replaced. False where one is unknown.
    [[nodiscard]] static bool decode(string_view text, string& out) {
        while (!text.empty()) {
            if (text.front() != '&') {
                out += text.front();
                text.remove_prefix(1);
                continue;
            }
            const auto* const found =
                std::find_if(std::begin(xml_references), std::end(xml_references),
                             [&](auto each) { return text.substr(0, each.first.size()) == each.first; });
            if (found == std::end(xml_references)) {
                return false;
            }
            out += found->second;
            text.remove_prefix(found->first.size());
        }
        return true;
    }

    string_view rest_;
};

/// Nothing for what is no answer of S3. Takes memory for the values that are kept alone, each at most 2,048 bytes.
[[nodiscard]] inline optional<s3_reply> parse_s3_reply(string_view text) {
    return s3_reply_parser(text).parse();
}

/// What an answer calls its error, such as "NoSuchKey"; "" for what is no such answer. Other stores answer likewise.
[[nodiscard]] inline string error_code_of(string_view body) {
    optional<s3_reply> reply = parse_s3_reply(body);
    return reply && reply->is_error() ? std::move(reply->code) : string();
}

/// The document that makes the parts of an upload an object; `tags` are those of the parts, in order.
[[nodiscard]] inline string s3_parts_list(span<const string> tags) {
    string out = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (size_t i = 0; i < tags.size(); ++i) {
        out.append("<Part><PartNumber>").append(std::to_string(i + 1)).append("</PartNumber><ETag>");
        for (const char c : tags[i]) {
            const auto* const special = std::find_if(xml_references, xml_references + written_xml_references,
                                                     [&](auto each) { return each.second == c; });
            special != xml_references + written_xml_references ? out.append(special->first) : out.append(1, c);
        }
        out.append("</ETag></Part>");
    }
    return out += "</CompleteMultipartUpload>";
}

// -- sizes of parts

inline constexpr unsigned s3_most_parts = 10'000;
inline constexpr uint64_t s3_least_part_bytes = uint64_t{5} << 20; ///< but for the last part
inline constexpr uint64_t s3_most_part_bytes = uint64_t{5} << 30;

/// How large part `index` is, from 0 on, unless it is the last. Some stores (Cloudflare R2) take no parts of several
/// sizes, so that the first 2,000 are alike, 16 GiB for 8 MiB each; then they grow, twice the first size with each
/// hundred, so that 10,000 parts of 8 MiB and more hold 5 TiB.
[[nodiscard]] constexpr uint64_t s3_part_bytes(uint64_t first_bytes, unsigned index) noexcept {
    const uint64_t hundreds_behind = index < 2000 ? 0 : (index - 2000) / 100 + 1;
    return (std::min)(first_bytes * (1 + 2 * hundreds_behind), s3_most_part_bytes);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
