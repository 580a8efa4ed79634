// SPDX-License-Identifier: MIT
#include "support/zt_builder.hpp"

#include <algorithm>
#include <cstddef>

namespace support {

bytes container(std::string_view magic, std::string_view index, const std::vector<bytes>& blobs,
                bool has_footer_magic) {
    bytes out(magic);
    for (const bytes& blob : blobs) {
        out.resize((out.size() + 63) / 64 * 64, '\0');
        out += blob;
    }
    return out + bytes(index) + little_endian(index.size(), 8) + (has_footer_magic ? bytes(magic) : bytes());
}

bytes file_1(std::string_view index, const std::vector<bytes>& blobs) {
    return container(magic_1, index, blobs, true);
}

bytes file_1_0(std::string_view index, const std::vector<bytes>& blobs) {
    return container(magic_1, index, blobs, false);
}

bytes file_0_1(std::string_view index, const std::vector<bytes>& blobs) {
    return container(magic_0_1, index, blobs, false);
}

std::string_view version_text(ztensor::version generation) {
    constexpr std::string_view texts[] = {"", "1.0", "1.1.0", "1.2.0"};
    return texts[static_cast<std::size_t>(generation)];
}

sample::sample(ztensor::version generation) : generation_(generation) {
    blobs_ = {little_endian(0x3f800000, 4) + little_endian(0x40000000, 4)};
    if (is_0_1()) {
        object_ = {{"name", cbor::text("w")},        {"offset", cbor::number(64)},    {"size", cbor::number(8)},
                   {"dtype", cbor::text("float32")}, {"layout", cbor::text("dense")}, {"shape", cbor::numbers({2})},
                   {"encoding", cbor::text("raw")}};
        return;
    }
    root_ = {{"version", cbor::text(version_text(generation))}};
    object_ = {{"shape", cbor::numbers({2})}, {"format", cbor::text("dense")}};
    component_ = {{"offset", cbor::number(64)}, {"length", cbor::number(8)}};
    dtype("f32");
}

sample& sample::root(std::string_view key, bytes value) {
    root_map().set(key, std::move(value));
    return *this;
}

sample& sample::object(std::string_view key, bytes value) {
    object_map().set(own_key(key), std::move(value));
    return *this;
}

sample& sample::component(std::string_view key, bytes value) {
    component_map().set(own_key(key), std::move(value));
    return *this;
}

sample& sample::without(std::string_view key) {
    for (cbor::map* const each : {&root_, &object_, &component_}) {
        each->remove(own_key(key));
    }
    removed_.emplace_back(key);
    return *this;
}

sample& sample::dtype(std::string_view word) {
    (is_1_0() ? object_ : component_map()).set("dtype", cbor::text(own_dtype(word)));
    return *this;
}

sample& sample::shape(const std::vector<std::uint64_t>& dimensions) {
    return object("shape", cbor::numbers(dimensions));
}

sample& sample::place(std::uint64_t offset, std::uint64_t length) {
    return component("offset", cbor::number(offset)).component("length", cbor::number(length));
}

sample& sample::blob(const bytes& content) {
    blobs_ = {content};
    return place(64, content.size());
}

sample& sample::zstd_blob(const bytes& frames, std::uint64_t decoded_bytes) {
    blob(frames).component("encoding", cbor::text("zstd"));
    return generation_ == ztensor::version::v1_2 ? component("uncompressed_length", cbor::number(decoded_bytes))
                                                 : *this;
}

sample& sample::blobs(std::vector<bytes> contents) {
    blobs_ = std::move(contents);
    return *this;
}

sample& sample::parts(std::string_view format, const std::vector<std::uint64_t>& dimensions,
                      const std::vector<part>& all) {
    cbor::map components;
    for (const part& each : all) {
        cbor::map fields = each.more;
        if (!is_1_0()) {
            fields.set("dtype", cbor::text(each.dtype));
        }
        fields.set("offset", cbor::number(each.offset)).set("length", cbor::number(each.length));
        components.add(cbor::text(each.role), fields);
    }
    return object("format", cbor::text(format)).shape(dimensions).components(components.encoded());
}

sample& sample::stored_parts(std::string_view format, const std::vector<std::uint64_t>& dimensions,
                             const std::vector<plain_part>& all, bool is_zstd) {
    blobs_.clear();
    std::vector<part> described;
    std::uint64_t offset = 64;
    for (const plain_part& each : all) {
        blobs_.push_back(is_zstd ? zstd::frame_of(each.content) : each.content);
        part one{each.role, each.dtype, offset, blobs_.back().size()};
        if (is_zstd) {
            one.more.set("encoding", cbor::text("zstd"));
            if (generation_ == ztensor::version::v1_2) {
                one.more.set("uncompressed_length", cbor::number(each.content.size()));
            }
        }
        described.push_back(one);
        offset += (blobs_.back().size() + 63) / 64 * 64;
    }
    return parts(format, dimensions, described);
}

sample& sample::components(bytes item) {
    components_ = std::move(item);
    return *this;
}

sample& sample::objects(bytes item) {
    objects_ = std::move(item);
    return *this;
}

bytes sample::encoded_object() const {
    cbor::map out = object_;
    if (!is_0_1() && keeps("components")) {
        out.add(cbor::text("components"),
                components_.empty() ? cbor::map{{"data", component_}}.encoded() : components_);
    }
    return out;
}

bytes sample::index() const {
    if (is_0_1()) {
        return objects_.empty() ? cbor::array({encoded_object()}) : objects_;
    }
    cbor::map out = root_;
    if (keeps("objects")) {
        out.add(cbor::text(is_1_0() ? "tensors" : "objects"),
                objects_.empty() ? cbor::map{{"w", encoded_object()}}.encoded() : objects_);
    }
    return out;
}

bytes sample::file() const {
    return file_of(index());
}

bytes sample::file_of(std::string_view index) const {
    return container(is_0_1() ? magic_0_1 : magic_1, index, blobs_, !is_0_1() && !is_1_0());
}

std::string sample::own_key(std::string_view key) const {
    if (!is_0_1()) {
        return std::string(key);
    }
    return key == "length" ? "size" : key == "digest" ? "checksum" : key == "format" ? "layout" : std::string(key);
}

std::string sample::own_dtype(std::string_view word) const {
    constexpr std::pair<std::string_view, std::string_view> long_names[] = {
        {"f64", "float64"}, {"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"},
        {"i64", "int64"},   {"i32", "int32"},   {"i16", "int16"},   {"i8", "int8"},
        {"u64", "uint64"},  {"u32", "uint32"},  {"u16", "uint16"},  {"u8", "uint8"}};
    for (const auto& [short_name, long_name] : long_names) {
        if ((is_0_1() || is_1_0()) && word == short_name) {
            return std::string(long_name);
        }
    }
    return std::string(word);
}

bool sample::keeps(std::string_view key) const {
    return std::find(removed_.begin(), removed_.end(), key) == removed_.end();
}

} // namespace support
