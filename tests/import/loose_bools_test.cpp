// SPDX-License-Identifier: MIT
//
// Bools of other formats whose bytes are neither 0 nor 1, as PIL makes them, and views of bytes in NumPy and PyTorch:
// any byte but 0 is true, and what is written of them is 1, on every way.
#include "import/foreign_files.hpp"
#include "import/pickled_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/protobuf.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace loose_bools {

namespace pickled = support::pickled;
using support::bytes;
using ztensor::format_version;
using ztensor::reader;
using ztensor::writer;

/// Six elements, as they are stored and as they are true.
const bytes stored("\0\1\xff\2\0\x80", 6);
const bytes made("\0\1\1\1\0\1", 6);

bytes npy(const bytes& type, const bytes& shape, const bytes& elements, bool is_fortran = false) {
    const bytes header = "{'descr': '" + type + "', 'fortran_order': " + (is_fortran ? "True" : "False") +
                         ", 'shape': " + shape + "}";
    return bytes("\x93NUMPY\1\0", 8) + support::little_endian(header.size(), 2) + header + elements;
}

bytes onnx(const bytes& data) {
    using support::protobuf::field;
    const bytes tensor = field(1, std::uint64_t{6}) + field(2, std::uint64_t{9}) + field(8, bytes("mask")) + data;
    return field(1, std::uint64_t{10}) + field(7, field(2, bytes("g")) + field(5, tensor));
}
/// Numbers of 32 bits, of which one has a lowest byte of 0.
bytes onnx_numbers() {
    using support::protobuf::field;
    bytes all;
    for (const std::uint64_t each : {0u, 1u, 256u, 2u, 0u, 0x7fffff00u}) {
        all += field(5, each);
    }
    return all;
}

/// Files of one tensor "mask", by their names.
std::vector<std::pair<bytes, bytes>> foreign_masks() {
    const bytes transposed("\0\2\1\0\xff\x80", 6); // of two rows and three columns
    return {
        {"mask.safetensors",
         support::safetensors_file(R"({"mask":{"dtype":"BOOL","shape":[6],"data_offsets":[0,6]}})", stored)},
        {"mask.npy", npy("|b1", "(6,)", stored)},
        {"fortran/mask.npy", npy("|b1", "(2, 3)", transposed, true)},
        {"mask.npz", pickled::archive({{"mask.npy", npy("|b1", "(6,)", stored)}})},
        {"mask.pt", pickled::checkpoint(pickled::dictionary({{"mask", pickled::tensor("BoolStorage", "0", 6)}}),
                                        {stored})},
        {"strided.pt",
         pickled::checkpoint(pickled::dictionary({{"mask", pickled::strided(pickled::storage("BoolStorage", "0", 6),
                                                                            {2, 3}, {1, 2})}}),
                             {transposed})},
        {"array.pt", pickled::checkpoint(pickled::dictionary({{"mask", pickled::array("b1", 6, stored)}}), {})},
        {"raw.onnx", onnx(support::protobuf::field(9, stored))},
        {"numbers.onnx", onnx(onnx_numbers())},
    };
}

reader opened(const bytes& name, const bytes& content) {
    return ztensor::open_any(std::make_shared<support::watched_source>(content), name).value();
}

/// The bytes of "mask" in a file of this library, which is valid.
bytes mask_in(const reader& file) {
    CHECK(file.verify().value().ok());
    const ztensor::component_view data = file.find("mask")->component("data").value();
    return support::memory_of(data.read<std::byte>().value());
}
bytes mask_in(const std::function<void(writer&)>& fill, const ztensor::write_options& options) {
    return mask_in(support::reopened(options, fill));
}

constexpr format_version all_versions[] = {format_version::v0_1, format_version::v1_1, format_version::v1_2,
                                           format_version::v2};

} // namespace loose_bools

} // namespace

TEST_CASE("bools of other formats are true where their bytes are not 0, however they are read") {
    using namespace loose_bools;
    const std::vector<bool> expected = {false, true, true, true, false, true};
    for (const auto& [name, content] : foreign_masks()) {
        CAPTURE(name);
        const reader file = opened(name, content);
        CHECK(file.read<bool>("mask").value() == expected);
        CHECK(support::memory_of(file.find("mask")->data()->read_little_endian().value()) == made);
        CHECK(file.read_as<float>("mask").value() == std::vector<float>{0, 1, 1, 1, 0, 1});
        ztensor::component_pieces pieces = ztensor::component_pieces::open(file.find("mask")->data().value()).value();
        CHECK(support::as_string(pieces.next().value()) == made);
        const auto loaded = ztensor::read_all(file);
        REQUIRE(support::outcome(loaded) == "ok");
    }
}

TEST_CASE("bools of other formats are copied as 0 and 1, into every version and in every way") {
    using namespace loose_bools;
    for (const auto& [name, content] : foreign_masks()) {
        const reader file = opened(name, content);
        for (const format_version version : all_versions) {
            CAPTURE(name, static_cast<int>(version));
            const auto options = ztensor::write_options().version(version);
            const auto copied = [&](const ztensor::copy_options& how) {
                return mask_in([&](writer& to) { ztensor::copy(file, to, how).value(); }, options);
            };
            CHECK(copied({}) == made);
            CHECK(copied(ztensor::copy_options().reencode(true)) == made);
            CHECK(mask_in([&](writer& to) { ztensor::copy(file.find("mask").value(), to).value(); }, options) == made);
            const auto drafted = [&](writer& to) {
                const ztensor::object_view mask = file.find("mask").value();
                ztensor::object_draft draft(ztensor::format::dense, mask.shape());
                draft.component_stored("data", mask.data().value());
                to.add_object("mask", draft).value();
            };
            CHECK(mask_in(drafted, options) == made);
        }
    }
}

TEST_CASE("bools of another format are copied as 0 and 1 from file to file, and into shards") {
    using namespace loose_bools;
    const support::temp_dir folder;
    const bytes large(std::size_t{5} << 20, '\2'); // whole MiB, which the system would copy by itself
    support::write_file(folder / "mask.npy", npy("|b1", "(5242880,)", large));
    const reader file = ztensor::open_any(folder / "mask.npy").value();
    const bytes expected(large.size(), '\1');
    for (const format_version version : all_versions) {
        auto to = writer::create(folder / "copy.zt", ztensor::write_options().version(version)).value();
        ztensor::copy(file, to).value();
        to.finish().value();
        CHECK(mask_in(reader::open(folder / "copy.zt").value()) == expected);
    }
    auto shards = ztensor::sharded_writer::create(folder / "shards.zt", ztensor::write_options().shard_bytes(1 << 20)).value();
    ztensor::copy(file, shards).value();
    shards.finish().value();
    CHECK(support::memory_of(
              ztensor::open_any(folder / "shards.zt.index.json").value().read<std::uint8_t>("mask").value()) ==
          expected);
}

TEST_CASE("a digest of copied bools is that of the bytes that are written") {
    using namespace loose_bools;
    for (const auto& [name, content] : foreign_masks()) {
        const reader file = opened(name, content);
        for (const bool is_zstd : {false, true}) {
            CAPTURE(name, is_zstd);
            const auto fill = [&](writer& to) {
                auto pieces = ztensor::component_pieces::open(file.find("mask")->data().value()).value();
                auto stream = to.stream("mask", {6}, ztensor::dtype::boolean,
                                        support::stored(is_zstd).digest(ztensor::digest::sha256))
                                  .value();
                stream.append_bytes(pieces.next().value()).value();
                stream.finish().value();
            };
            const reader written = support::reopened({}, fill);
            CHECK(mask_in(written) == made);
            CHECK(written.find("mask")->data()->verify().value() == ztensor::digest_state::match);
        }
        const reader copied = support::reopened(ztensor::write_options().version(format_version::v2),
                                                [&](writer& to) { ztensor::copy(file, to).value(); });
        CHECK(copied.find("mask")->data()->verify().value() == ztensor::digest_state::match);
    }
}

TEST_CASE("bools of another format are exported as 0 and 1") {
    using namespace loose_bools;
    const support::temp_dir folder;
    for (const auto& [name, content] : foreign_masks()) {
        CAPTURE(name);
        const reader file = opened(name, content);
        ztensor::export_safetensors(file, folder / "out.safetensors").value();
        ztensor::export_npz(file, folder / "out.npz").value();
        ztensor::export_npy(file.find("mask").value(), folder / "out.npy").value();
        for (const char* const out : {"out.safetensors", "out.npz", "out.npy"}) {
            const bytes all = support::read_file(folder / out);
            CHECK(all.find(made) != bytes::npos);
            CHECK(all.find(stored) == bytes::npos);
        }
    }
}

TEST_CASE("bytes that are a bool under one name and a number under another are copied as both") {
    using namespace loose_bools;
    const bytes content = pickled::checkpoint(
        pickled::dictionary({{"mask", pickled::tensor("BoolStorage", "0", 6)},
                             {"bytes", pickled::tensor("ByteStorage", "0", 6)},
                             {"tied", pickled::tensor("BoolStorage", "0", 6)}}),
        {stored});
    const reader file = opened("x.pt", content);
    for (const format_version version : all_versions) {
        const reader copy = support::reopened(ztensor::write_options().version(version),
                                              [&](writer& to) { ztensor::copy(file, to).value(); });
        CAPTURE(static_cast<int>(version));
        CHECK(mask_in(copy) == made);
        CHECK(support::memory_of(copy.read<std::uint8_t>("bytes").value()) == stored);
        CHECK(copy.find("tied")->data()->offset() == copy.find("mask")->data()->offset());
    }
}

TEST_CASE("bools that are the values of a sparse tensor are copied as 0 and 1") {
    using namespace loose_bools;
    const bytes coords = pickled::strided(pickled::storage("LongStorage", "0", 3), {1, 3}, {3, 1});
    const bytes sparse = pickled::call(pickled::global("torch._utils", "_rebuild_sparse_tensor"),
                                       {pickled::text("torch.sparse_coo"),
                                        pickled::tuple({coords, pickled::tensor("BoolStorage", "1", 3),
                                                        pickled::sizes({9})})});
    const bytes content = pickled::checkpoint(pickled::dictionary({{"mask", sparse}}),
                                              {support::little_endian({1, 4, 7}, 8), bytes("\1\2\xff", 3)});
    const reader file = opened("x.pt", content);
    for (const format_version version : all_versions) {
        CAPTURE(static_cast<int>(version));
        for (const bool reencodes : {false, true}) {
            const reader copy = support::reopened(ztensor::write_options().version(version), [&](writer& to) {
                ztensor::copy(file, to, ztensor::copy_options().reencode(reencodes)).value();
            });
            const auto view = ztensor::coo_view<std::uint8_t>::read(copy.find("mask").value());
            REQUIRE(support::outcome(view) == "ok");
            CHECK(support::memory_of(view->values()) == bytes(3, '\1'));
        }
    }
}
