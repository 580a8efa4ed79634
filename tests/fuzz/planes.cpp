// SPDX-License-Identifier: MIT
//
// Tensors in planes made of the input: types, shapes, encodings, frames, digests and attributes as its bytes say, right
// or wrong. What is read is what the planes say by the definition, the same in every way, mapped and by positional
// reads.
#include "fuzz/every_way.hpp"
#include "fuzz/fuzzing.hpp"
#include "fuzz/memory_source.hpp"

#include "support/cbor.hpp"
#include "support/plane_content.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

const std::size_t fuzzing::working_bytes = (std::size_t{8} << 20) + 64 * fuzzing::max_decoded_bytes;

namespace {

using support::bytes;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

/// The input, taken from its front piece by piece. Behind its end there are zeros.
class planes_input {
public:
    explicit planes_input(std::string_view rest) : rest_(rest) {}

    std::size_t number() {
        const bytes one = take(1);
        return one.empty() ? 0 : static_cast<unsigned char>(one[0]);
    }
    bytes take(std::size_t size) {
        const std::string_view piece = rest_.substr(0, size);
        rest_.remove_prefix(piece.size());
        return bytes(piece);
    }

private:
    std::string_view rest_;
};

constexpr std::string_view types[] = {"bf16", "f16", "f32", "bf16", "f16", "f32", "f64", ""};
constexpr std::string_view digests[] = {"", "crc32c:0x00000000", "md5:00"};

/// A plane whose content is of the stated size, unless the input says otherwise.
struct made_plane {
    bytes content;
    bytes blob;
    support::part description;
    bool is_certain = true; ///< that it decodes to its content
};

bytes frames_of(const bytes& content, std::size_t each) {
    bytes made;
    for (std::size_t at = 0; at < content.size(); at += each) {
        made += zstd::sized_frame(content.substr(at, each), static_cast<unsigned>(content.substr(at, each).size()));
    }
    return made;
}

made_plane make_plane(planes_input& from, const char* role, std::size_t size, bool states_size) {
    made_plane made;
    const std::size_t form = from.number();
    made.content = from.take(size);
    made.content.resize(size, static_cast<char>(form));
    made.blob = made.content;
    if (form % 4 != 0) {
        const std::size_t each = form / 4 % 8 * 30 + 1;
        made.blob = form % 4 == 1 || size == 0 ? zstd::frame_of(made.content) : frames_of(made.content, each);
    }
    if (form >= 128) { // damaged, or of another length
        const bytes more = from.take(form % 16);
        const std::size_t at = std::min(from.number(), made.blob.size());
        made.blob.replace(at, std::min(more.size() / 2, made.blob.size() - at), more);
        made.is_certain = false;
    }
    made.description = {role, "u8", 64, made.blob.size()};
    if (form % 4 != 0) {
        made.description.more.set("encoding", cbor::text(form % 64 == 63 ? "zstd2" : "zstd"));
        made.is_certain = made.is_certain && form % 64 != 63;
        if (states_size) {
            made.description.more.set("uncompressed_length", cbor::number(size + (form / 32 % 4 == 3 ? 1 : 0)));
        }
    }
    const std::string_view digest = digests[form / 8 % 3];
    if (!digest.empty()) {
        made.description.more.set("digest", cbor::text(digest));
        made.is_certain = false;
    }
    return made;
}

/// What is in pieces is what is read at once.
void go_through(const ztensor::component_view& data, const std::vector<std::byte>& whole) {
    auto pieces = ztensor::component_pieces::open(data);
    fuzzing::require(pieces.has_value(), "what can be read can be read in pieces");
    std::vector<std::byte> joined;
    for (;;) {
        const auto piece = pieces->next();
        fuzzing::require(piece.has_value(), "what can be read can be read in pieces to its end");
        if (piece->empty()) {
            break;
        }
        joined.insert(joined.end(), piece->begin(), piece->end());
    }
    fuzzing::require(joined == whole, "the pieces are the whole");
}

void check_tensor(const ztensor::object_view& object, const made_plane& exponents, const made_plane& fractions) {
    const auto data = object.data();
    fuzzing::require(data.has_value() == (object.format() == ztensor::format::dense), "what is dense has elements");
    if (!data) {
        return;
    }
    const auto whole = data->read<std::byte>();
    fuzzing::require(whole.has_value() || !exponents.is_certain || !fractions.is_certain, "intact planes can be read");
    if (!whole) {
        return;
    }
    go_through(*data, *whole);
    if (exponents.is_certain && fractions.is_certain) {
        const std::size_t width = ztensor::width_bytes(*data->dtype().known());
        const auto split = support::planes::split_of(fuzzing::as_text(*whole), width);
        fuzzing::require(split.exponents == exponents.content, "the exponents are those of the file");
        fuzzing::require(split.fractions == fractions.content, "the fractions are those of the file");
    }
}

} // namespace

void fuzzing::try_input(ztensor::bytes_view input) {
    planes_input from(as_text(input));
    const std::size_t form = from.number();
    const std::string_view type = types[form % 8];
    const std::vector<std::uint64_t> shape = {from.number() % 24, from.number() % 24};
    const auto count = static_cast<std::size_t>(shape[0] * shape[1]);
    const std::size_t width = type == "f32" ? 4 : type == "f64" ? 8 : 2;
    const bool is_1_2 = (form & 8) == 0;
    made_plane exponents = make_plane(from, "exponent", count, is_1_2);
    made_plane fractions = make_plane(from, "fraction", count * (width - 1), is_1_2);
    fractions.description.offset = 64 + (exponents.blob.size() + 63) / 64 * 64;
    support::sample file(is_1_2 ? ztensor::version::v1_2 : ztensor::version::v1_1);
    file.parts("ztensor-cpp.planes/1", shape, {exponents.description, fractions.description});
    file.object("attributes", cbor::map{{"planes.dtype", cbor::text(type)},
                                        {"planes.exponent_bits", cbor::number((form & 16) != 0 ? form / 32 : 8)}});
    file.blobs({exponents.blob, fractions.blob});
    const bytes built = file.file();
    const own_copy content(support::bytes_of(built));
    for (const bool is_mapped : {true, false}) {
        const auto source = std::make_shared<memory_source>(content.bytes(), is_mapped);
        const auto opened = ztensor::reader::from_source(source, small_limits());
        if (opened) {
            check_tensor((*opened)["w"], exponents, fractions);
            ask_every_way(*opened);
            static_cast<void>(opened->verify(1));
        }
    }
}
