// SPDX-License-Identifier: MIT
//
// What is in a file, as JSON: what its index says, and what its bytes are, for which all of them are read. `inspect
// --json` prints both.
#ifndef ZTENSOR_EXAMPLES_DESCRIBE_HPP
#define ZTENSOR_EXAMPLES_DESCRIBE_HPP

#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace describe {

using json = nlohmann::ordered_json;

inline std::string hex(ztensor::bytes_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (const std::byte byte : bytes) {
        out += {digits[std::to_integer<unsigned>(byte) >> 4], digits[std::to_integer<unsigned>(byte) & 15]};
    }
    return out;
}

/// 64 digits, without the name of the algorithm.
inline std::string sha256(ztensor::bytes_view bytes) {
    return ztensor::digest_text(ztensor::digest::sha256, bytes).substr(std::string_view("sha256:").size());
}

/// Of the numbers as little-endian u64, whatever the host.
inline std::string sha256(ztensor::span<const std::uint64_t> numbers) {
    std::vector<std::byte> bytes;
    for (const std::uint64_t number : numbers) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            bytes.push_back(static_cast<std::byte>(number >> shift));
        }
    }
    return sha256(ztensor::bytes_view(bytes));
}

inline json attributes(const ztensor::attributes_view& source) {
    constexpr std::size_t longest_hex_bytes = 256;
    json list = json::array();
    for (const ztensor::attribute& each : source) {
        json entry = {{"key", each.key}};
        if (each.cbor.size() <= longest_hex_bytes) {
            entry["cbor"] = hex(each.cbor);
        } else {
            entry["cbor_length"] = each.cbor.size();
            entry["cbor_sha256"] = sha256(each.cbor);
        }
        list.push_back(entry);
    }
    return list;
}

/// What the library does not offer (an unknown word, an order it does not know) is left out; damage throws.
template <class T>
ztensor::result<T> unless_damaged(ztensor::result<T> found) {
    if (!found && found.error().kind() != ztensor::error_kind::unsupported &&
        found.error().kind() != ztensor::error_kind::usage) {
        found.value();
    }
    return found;
}

/// Piece by piece: a blob may be larger than memory.
inline std::string stored_sha256(const ztensor::component_view& source) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    ztensor::digester hash(ztensor::digest::sha256);
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < source.stored_bytes(); at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(piece_bytes, source.stored_bytes() - at)));
        source.read_stored_into(piece, at).value();
        hash.update(piece);
    }
    return hash.text().substr(std::string_view("sha256:").size());
}

/// What the index says of a component.
inline json words_of(const ztensor::component_view& source) {
    json out = {{"dtype", source.dtype().text()}};
    if (source.dtype().original() != source.dtype().text()) {
        out["original_dtype"] = source.dtype().original();
    }
    if (source.type().is_present() || source.type().has_original()) { // even the storage type's own name
        out["type"] = source.type().is_present() ? source.type().text() : source.type().original();
    }
    if (!source.shard().empty()) {
        out["shard"] = source.shard();
    }
    out["offset"] = source.offset();
    out["length"] = source.stored_bytes();
    out["encoding"] = source.encoding().text();
    if (source.uncompressed_length()) {
        out["uncompressed_length"] = *source.uncompressed_length();
    }
    if (source.digest().is_present()) {
        out["digest"] = source.digest().text();
    }
    if (source.is_big_endian()) {
        out["byte_order"] = "big";
    }
    return out;
}

/// Adds what the bytes of a component are.
inline void add_digests(const ztensor::component_view& source, json& out) {
    out["digest_state"] = ztensor::name(source.verify().value());
    out["stored_sha256"] = stored_sha256(source);
    if (!source.encoding().is_known()) {
        return;
    }
    const std::vector<std::byte> decoded = source.read<std::byte>().value();
    out["decoded_length"] = decoded.size();
    out["decoded_sha256"] = sha256(ztensor::bytes_view(decoded));
    if (source.is_big_endian()) {
        if (const auto swapped = unless_damaged(source.read_little_endian())) {
            out["decoded_little_endian_sha256"] = sha256(ztensor::bytes_view(*swapped));
        }
    }
}

/// "major.minor": of the version that the file states, or of the one that states none. Of other formats their
/// names.
inline std::string generation(const ztensor::reader& source) {
    if (source.container() != ztensor::container_kind::zt) {
        return std::string(source.container().text());
    }
    const std::string_view version = source.version().original();
    const std::size_t second_dot = version.find('.', version.find('.') + 1);
    return std::string(version.empty() ? source.version().text() : version.substr(0, second_dot));
}

/// What the index says of an object itself.
inline json words_of(const ztensor::object_view& source, ztensor::version generation) {
    json out = {{"name", source.name()},
                {"shape", source.shape()},
                {"format", generation == ztensor::version::v2 ? source.format().original() : source.format().text()}};
    if (generation == ztensor::version::v0_1 && source.format().has_original()) {
        out["original_layout"] = source.format().original();
    }
    return out;
}

/// Adds what the parts of a sparse object are, as integers of 64 bits whatever they are stored as.
inline void add_sparse_digests(const ztensor::object_view& source, json& out) {
    if (source.format() == ztensor::format::sparse_csr) {
        if (const auto csr = unless_damaged(ztensor::csr_view<std::byte>::from(source))) {
            out["csr"] = {{"nnz", csr->entry_count()},
                          {"indptr_u64_sha256", sha256(csr->indptr())},
                          {"indices_u64_sha256", sha256(csr->indices())},
                          {"values_sha256", sha256(csr->values())}};
        }
    }
    if (source.format() == ztensor::format::sparse_coo) {
        if (const auto coo = unless_damaged(ztensor::coo_view<std::byte>::from(source))) {
            out["coo"] = {{"nnz", coo->entry_count()},
                          {"coords_u64_soa_sha256", sha256(coo->coords())},
                          {"values_sha256", sha256(coo->values())}};
        }
    }
}

/// The one that the words and rules of a file are of.
inline ztensor::version version_of(const ztensor::reader& source) {
    return source.version().known().value_or(ztensor::version::v1_2);
}

/// What a file says of itself.
inline json words_of(const ztensor::reader& source) {
    json out = {{"file_length", source.file_bytes()}, {"generation", generation(source)}};
    if (!source.version().original().empty()) {
        out["version"] = source.version().original();
    }
    if (source.is_data_shard()) {
        out["data_shard"] = true;
    }
    out["index_length"] = source.manifest_bytes();
    for (const ztensor::skipped_item& each : source.skipped()) {
        out["skipped"].push_back({{"name", each.name}, {"where", each.where}, {"why", each.why}});
    }
    return out;
}

/// All of it, with attributes as they are encoded. Throws ztensor::exception where the file's content, or a word that
/// it uses, keeps a part from being described.
inline json file(const ztensor::reader& source) {
    json out = words_of(source);
    out["attributes"] = source.has_attributes() ? attributes(source.attributes()) : json();
    out["objects"] = json::array();
    for (const ztensor::object_view object : source) {
        json of_object = words_of(object, version_of(source));
        of_object["attributes"] = object.has_attributes() ? attributes(object.attributes()) : json();
        for (const ztensor::component_view each : object) {
            json& of_component = of_object["components"][std::string(each.role())] = words_of(each);
            add_digests(each, of_component);
        }
        add_sparse_digests(object, of_object);
        out["objects"].push_back(std::move(of_object));
    }
    return out;
}

} // namespace describe

#endif
