// SPDX-License-Identifier: MIT
//
// .zt files for tests, byte by byte: containers of every generation, and a small file of which any field can be
// changed. Shares no code with the library's writers.
#ifndef ZTENSOR_TESTS_SUPPORT_ZT_BUILDER_HPP
#define ZTENSOR_TESTS_SUPPORT_ZT_BUILDER_HPP

#include "support/bytes.hpp"
#include "support/cbor.hpp"
#include "support/zstd_frames.hpp"

#include <ztensor/format.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

inline constexpr std::string_view magic_1 = "ZTEN1000";
inline constexpr std::string_view magic_0_1 = "ZTEN0001";

/// Magic, blobs one after the other at multiples of 64, index, index size; the end of 1.1 and later has the magic too.
[[nodiscard]] bytes container(std::string_view magic, std::string_view index, const std::vector<bytes>& blobs,
                              bool has_footer_magic);
[[nodiscard]] bytes file_1(std::string_view index, const std::vector<bytes>& blobs = {});
[[nodiscard]] bytes file_1_0(std::string_view index, const std::vector<bytes>& blobs = {});
[[nodiscard]] bytes file_0_1(std::string_view index, const std::vector<bytes>& blobs = {});

/// What the field "version" of an index says; nothing in 0.1, which has no such field.
[[nodiscard]] std::string_view version_text(ztensor::version generation);

/// A component to be put into a sample. dtype in the words of 1.1 and later.
struct part {
    std::string role;
    std::string dtype;
    std::uint64_t offset = 64;
    std::uint64_t length = 0;
    cbor::map more = {}; ///< other fields
};

/// A component by what it holds; where it lies follows from the others.
struct plain_part {
    std::string role;
    std::string dtype;
    bytes content;
};

/// A file of one object, to be changed field by field and then built: "w", dense, f32, of shape [2], with one component
/// "data" of the numbers 1 and 2, raw in the 8 bytes at offset 64. Fields and dtypes go by their names in 1.2; those of
/// the generation are put in their place. In 0.1, which has one map for all, all fields are in that.
class sample {
public:
    explicit sample(ztensor::version generation = ztensor::version::v1_2);

    [[nodiscard]] ztensor::version version() const noexcept { return generation_; }
    [[nodiscard]] bool is_0_1() const noexcept { return generation_ == ztensor::version::v0_1; }
    [[nodiscard]] bool is_1_0() const noexcept { return generation_ == ztensor::version::v1_0; }

    /// The maps, for changes that are no change of a field.
    [[nodiscard]] cbor::map& root_map() noexcept { return is_0_1() ? object_ : root_; }
    [[nodiscard]] cbor::map& object_map() noexcept { return object_; }
    [[nodiscard]] cbor::map& component_map() noexcept { return is_0_1() ? object_ : component_; }

    sample& root(std::string_view key, bytes value);
    sample& object(std::string_view key, bytes value);
    sample& component(std::string_view key, bytes value);
    /// Removes the field, wherever it stands.
    sample& without(std::string_view key);

    sample& dtype(std::string_view word);
    sample& shape(const std::vector<std::uint64_t>& dimensions);
    /// Where the object's one component lies.
    sample& place(std::uint64_t offset, std::uint64_t length);
    /// The component's one blob, at offset 64, and its length.
    sample& blob(const bytes& content);
    /// A zstd blob that stands for `decoded_bytes` bytes.
    sample& zstd_blob(const bytes& frames, std::uint64_t decoded_bytes);
    /// All blobs, the first at 64 and each other at the next multiple of 64.
    sample& blobs(std::vector<bytes> contents);
    /// Other components instead of "data"; not in 0.1. In 1.0 components have no dtype.
    sample& parts(std::string_view format, const std::vector<std::uint64_t>& dimensions, const std::vector<part>& all);
    /// The same with their blobs one after the other, raw or each as one zstd frame.
    sample& stored_parts(std::string_view format, const std::vector<std::uint64_t>& dimensions,
                         const std::vector<plain_part>& all, bool is_zstd);
    /// What stands as the map of components.
    sample& components(bytes item);
    /// What stands as the map (in 0.1 the array) of objects.
    sample& objects(bytes item);

    /// The object as it stands in the map or array of objects, without its name.
    [[nodiscard]] bytes encoded_object() const;
    [[nodiscard]] bytes index() const;
    [[nodiscard]] bytes file() const;
    /// The container of this generation around any index.
    [[nodiscard]] bytes file_of(std::string_view index) const;

private:
    [[nodiscard]] std::string own_key(std::string_view key) const;
    [[nodiscard]] std::string own_dtype(std::string_view word) const;
    [[nodiscard]] bool keeps(std::string_view key) const;

    ztensor::version generation_;
    cbor::map root_;
    cbor::map object_;
    cbor::map component_;
    bytes components_; ///< empty: the one component
    bytes objects_;    ///< empty: the one object
    std::vector<std::string> removed_;
    std::vector<bytes> blobs_;
};

} // namespace support

#endif
