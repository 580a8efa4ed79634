// SPDX-License-Identifier: MIT
//
// Files of version 2 put together by hand, part by part, as no package writes them: packed values in every layout,
// unknown encodings, damage in several parts at once, shards that are alike but for a byte.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/child_process.hpp"
#include "support/elements.hpp"
#include "support/faulty_os.hpp"
#include "support/few_handles.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/codec/digests.hpp>
#include <ztensor/detail/index/frame.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace built_2 {

using support::bytes;
using support::outcome;
using support::refusal;
using ztensor::digest_state;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
namespace cbor = support::cbor;
namespace detail = ztensor::detail;

/// A part of the object "w"; its blob is put where the next one may lie.
struct part {
    std::string role;
    std::string dtype;
    bytes content;
    std::string type = {};
    std::string encoding = {};
    std::string digest = {};
};

class file {
public:
    file& add(const std::string& name, const std::string& layout, const std::vector<std::uint64_t>& shape,
              const std::vector<part>& parts, const bytes& attributes = {}) {
        cbor::map encoded_parts;
        for (const part& each : parts) {
            content_.resize((content_.size() + 4095) / 4096 * 4096, '\0');
            cbor::map fields;
            fields.set("blob", cbor::array({cbor::number(content_.size()), cbor::number(each.content.size())}));
            if (!each.type.empty()) {
                fields.set("type", cbor::text(each.type));
            }
            fields.set("dtype", cbor::text(each.dtype));
            if (!each.digest.empty()) {
                fields.set("digest", cbor::text(each.digest));
            }
            if (!each.encoding.empty()) {
                fields.set("encoding", cbor::text(each.encoding));
                fields.set("decoded_length", cbor::number(each.content.size()));
            }
            encoded_parts.set(each.role, fields);
            content_ += each.content;
        }
        cbor::map object{{"parts", encoded_parts}, {"shape", cbor::numbers(shape)}, {"layout", cbor::text(layout)}};
        if (!attributes.empty()) {
            object.set("attributes", attributes);
        }
        objects_.set(name, object);
        return *this;
    }
    file& shard(const std::string& name, const bytes& whole, const std::string& digest) {
        shards_.set(name, cbor::map{{"size", cbor::number(whole.size())}, {"digest", cbor::text(digest)}});
        return *this;
    }
    /// An object of bytes, in a shard.
    file& add_in_shard(const std::string& name, const std::string& shard, std::uint64_t length) {
        const cbor::map data{
            {"blob", cbor::numbers({4096, length})}, {"dtype", cbor::text("u8")}, {"shard", cbor::text(shard)}};
        objects_.set(name, cbor::map{{"parts", cbor::map{{"data", data}}},
                                     {"shape", cbor::numbers({length})},
                                     {"layout", cbor::text("dense")}});
        return *this;
    }

    [[nodiscard]] bytes content() const {
        bytes all = content_;
        all.resize((all.size() + 4095) / 4096 * 4096, '\0');
        cbor::map root;
        if (shards_.encoded().size() > 1) {
            root.set("shards", shards_);
        }
        root.set("objects", objects_);
        const bytes manifest = root.encoded();
        const auto footer =
            detail::encode_footer_2({all.size(), manifest.size(), detail::xxh3_of(support::bytes_of(manifest))});
        return all + manifest + support::as_string(ztensor::bytes_view(footer));
    }
    [[nodiscard]] reader open(const ztensor::read_options& options = {}) const {
        return support::opened(content(), options);
    }

private:
    bytes content_ = bytes(detail::magic_2);
    cbor::map objects_, shards_;
};

const bytes five_nibbles = bytes("\x21\x43\x05"); // 0.5, 1, 1.5, 2, 3
const std::vector<float> five_numbers = {0.5F, 1, 1.5F, 2, 3};

/// An empty file of bytes that its root knows.
bytes data_shard(const bytes& blob) {
    bytes all(detail::magic_2);
    all.resize(4096, '\0');
    const auto footer = detail::encode_footer_2({});
    return all + blob + support::as_string(ztensor::bytes_view(footer));
}
std::string sha256_of(const bytes& content) {
    return ztensor::digest_text(ztensor::digest::sha256, support::to_vector(content));
}

/// "root.zt" with objects "0", "1", ... of the texts "1000", "1001", ..., each in a shard of its own beside it.
void write_shards(const support::temp_dir& folder, int count) {
    file root;
    for (int i = 0; i < count; ++i) {
        const std::string name = std::to_string(i);
        const bytes shard = data_shard(std::to_string(1000 + i));
        root.shard(name, shard, sha256_of(shard)).add_in_shard(name, name, 4);
        support::write_file(folder / ("root-" + name + ".zt"), shard);
    }
    support::write_file(folder / "root.zt", root.content());
}

#if !defined(_WIN32)

/// Does something once, behind the first read of more than the ends of a file.
class exchanging_os final : public support::faulty_os {
public:
    explicit exchanging_os(std::function<void()> exchange) : exchange_(std::move(exchange)) {}

    detail::os_answer<std::size_t> read(detail::os_handle from, std::uint64_t offset,
                                        ztensor::span<std::byte> to) override {
        const auto answer = faulty_os::read(from, offset, to);
        if (to.size() > 4096 && exchange_) {
            std::exchange(exchange_, nullptr)();
        }
        return answer;
    }

private:
    std::function<void()> exchange_;
};

#endif

} // namespace built_2

} // namespace

TEST_CASE("packed values are read as numbers in every layout, as many as it says or as there is room for") {
    using namespace built_2;
    const bytes coords = support::little_endian({0, 1, 2, 3, 4}, 8);
    const std::vector<std::vector<part>> all = {
        {{"coords", "u64", coords}, {"values", "u8", five_nibbles, "f4_e2m1"}},
        {{"values", "u8", five_nibbles, "f4_e2m1"}},
        {{"data", "u8", five_nibbles, "f4_e2m1"}},
    };
    for (const auto& parts : all) {
        const bool is_sparse = parts.size() == 2;
        const reader from = file().add("w", is_sparse ? "zt.sparse_coo/1" : "own/1", {9}, parts).open();
        const auto component = from.find("w")->component(parts.back().role).value();
        std::vector<float> expected = five_numbers;
        if (!is_sparse) {
            expected.push_back(0); // nobody says that there are five
        }
        CHECK(component.read_as<float>().value() == expected);
        CHECK(ztensor::packed_view::from(component).value().size() == expected.size());
        auto pieces = ztensor::component_pieces::open_as(component, ztensor::dtype::f32);
        REQUIRE(support::outcome(pieces) == "ok");
        CHECK(support::as_string(pieces->next().value()) == support::little_endian(expected));
        CHECK(pieces->next().value().empty());
        CHECK(from.verify().value().complete() == false); // without digests
    }
}

TEST_CASE("what is encoded in an unknown way can't be verified, and is no mistake") {
    using namespace built_2;
    const bytes values = support::little_endian({0x3f800000, 0x40000000}, 4),
                indices = support::little_endian({0, 2}, 8), pointers = support::little_endian({0, 1, 2}, 8);
    for (const char* const role : {"indptr", "indices", "values"}) {
        CAPTURE(role);
        std::vector<part> parts = {{"indptr", "u64", pointers}, {"values", "f32", values}, {"indices", "u64", indices}};
        for (part& each : parts) {
            each.encoding = each.role == role ? "own/1" : "";
        }
        const reader from = file().add("w", "zt.sparse_csr/1", {2, 3}, parts).open();
        CHECK(from.verify());
        CHECK(refusal(ztensor::csr_view<float>::read(from.find("w").value())) == errc::unsupported_encoding);
    }
}

TEST_CASE("damage is told before what follows from it, part by part") {
    using namespace built_2;
    const bytes values = support::little_endian({0x3f800000, 0x40000000}, 4),
                indices = support::little_endian({9, 2}, 8), pointers = support::little_endian({0, 1, 2}, 8);
    const std::string digest = sha256_of("something else");
    const reader damaged = file()
                               .add("w", "zt.sparse_csr/1", {2, 3},
                                    {{"indptr", "u64", pointers, {}, {}, digest},
                                     {"values", "f32", values, {}, {}, digest},
                                     {"indices", "u64", indices, {}, {}, digest}})
                               .open();
    const auto answer = damaged.verify().value();
    CHECK(answer.mismatches.size() == 3); // and nothing of the column that is not there
    const reader broken =
        file()
            .add("w", "zt.sparse_csr/1", {2, 3},
                 {{"indptr", "u64", pointers}, {"values", "f32", values}, {"indices", "u64", indices}})
            .open();
    CHECK(refusal(broken.verify()) == errc::sparse_index);
    file both;
    both.add("a", "dense", {1}, {{"data", "u8", "\2", "bool"}})
        .add("b", "dense", {1}, {{"data", "u8", "x", {}, {}, digest}});
    const reader of_both = both.open();
    CHECK(of_both.verify().value().mismatches.size() == 1);
    file bools;
    bools.add("a", "dense", {1}, {{"data", "u8", "\2", "bool"}}).add("b", "dense", {1}, {{"data", "u8", "x"}});
    const reader of_bools = bools.open();
    CHECK(refusal(of_bools.verify()) == errc::bad_bool);
}

TEST_CASE("packed elements of many pieces are verified to the half byte behind the last") {
    using namespace built_2;
    constexpr std::size_t count = 1500001; // of more than one piece, whole or decoded
    bytes packed((count + 1) / 2, '\x21');
    packed.back() = '\x01';
    const reader good =
        file().add("w", "dense", {count}, {{"data", "u8", packed, "f4_e2m1", {}, sha256_of(packed)}}).open();
    CHECK(good.verify().value().complete());
    packed.back() = '\x11';
    const reader bad =
        file().add("w", "dense", {count}, {{"data", "u8", packed, "f4_e2m1", {}, sha256_of(packed)}}).open();
    CHECK(refusal(bad.verify()) == errc::bad_padding);
}

TEST_CASE("a seek table that claims more frames than the blob has bytes is refused") {
    using namespace built_2;
    const bytes table = support::little_endian(0x184D2A5E, 4) + support::little_endian(9, 4) +
                        support::little_endian(0xffffffff, 4) + bytes(1, '\0') + support::little_endian(0x8F92EAB1, 4);
    const reader from = file().add("w", "dense", {17}, {{"data", "u8", table, {}, "zt.zstd-seekable/1"}}).open();
    CHECK(refusal(from.read<std::uint8_t>("w")) == errc::decode_failed);
    CHECK(refusal(from["w"].rows(0, 1).read<std::uint8_t>()) == errc::decode_failed);
}

TEST_CASE("codes of a type that nobody knows are no codes") {
    using namespace built_2;
    const bytes packing =
        cbor::map{{"word", cbor::text("u32")}, {"order", cbor::text("lsb_first")}, {"per_word", cbor::number(8)}};
    const bytes attributes = cbor::map{{"axis", cbor::number(0)},
                                       {"bits", cbor::number(4)},
                                       {"packing", packing},
                                       {"group_size", cbor::number(8)},
                                       {"scale_form", cbor::text("f32_factors")},
                                       {"zero_point", cbor::map{{"form", cbor::text("none")}}}};
    const bytes wide =
        cbor::map{{"word", cbor::text("u64")}, {"order", cbor::text("lsb_first")}, {"per_word", cbor::number(16)}};
    const bytes wide_attributes = cbor::map{{"axis", cbor::number(0)},
                                            {"bits", cbor::number(4)},
                                            {"packing", wide},
                                            {"group_size", cbor::number(16)},
                                            {"scale_form", cbor::text("f32_factors")},
                                            {"zero_point", cbor::map{{"form", cbor::text("none")}}}};
    const reader signed_words = file()
                                    .add("w", "zt.quant_group/1", {16},
                                         {{"data", "i64", support::little_endian(0xfedcba9876543210, 8)},
                                          {"scales", "f32", support::little_endian(0x3f800000, 4)}},
                                         wide_attributes)
                                    .open();
    CHECK(signed_words.read_as<float>("w").value().back() == 15);
    const auto open = [&](const std::string& type) {
        return support::open_bytes(file()
                                       .add("w", "zt.quant_group/1", {8},
                                            {{"data", "u32", support::little_endian(0x76543210, 4), type},
                                             {"scales", "f32", support::little_endian(0x3f800000, 4)}},
                                            attributes)
                                       .content());
    };
    INFO(outcome(open("")));
    CHECK(open("").value().read_as<float>("w").value() == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(refusal(open("code").and_then([](const reader& from) { return from.read_as<float>("w"); })) ==
          errc::unsupported_type);
}

TEST_CASE("groups are read into memory of exactly their size") {
    using namespace built_2;
    const reader from = reader::open("tests/corpus/v2/valid/group-implied-zero.zt").value();
    const std::vector<double> expected = from.read_as<double>("w").value();
    std::vector<double> numbers(expected.size()), more(expected.size() + 1);
    const object_view object = from.find("w").value();
    CHECK(object.read_as_into(numbers));
    CHECK(numbers == expected);
    CHECK(refusal(object.read_as_into(more)) == errc::size_mismatch);
    const reader other_order = reader::open("tests/corpus/v2/valid/group-most-significant-first.zt").value();
    CHECK(ztensor::quantized_view::from(other_order.find("w").value()).value().dequantize().value() ==
          other_order.read_as<float>("w").value());
}

TEST_CASE("rows of no frames are none") {
    using namespace built_2;
    const reader from = reader::open("tests/corpus/v2/valid/zstd-no-frames.zt").value();
    const object_view object = from.find("w").value();
    CHECK(object.rows(0, 0).read<std::byte>().value().empty());
    CHECK(object.component("data").value().read<std::byte>().value().empty());
}

TEST_CASE("pieces of seekable zstd need no digest") {
    using namespace built_2;
    const auto options = ztensor::read_options().verify_digests(false);
    const reader from = reader::open("tests/corpus/v2/valid/zstd-seekable-zstd.zt", options).value();
    auto pieces = ztensor::component_pieces::open(support::data_of(from)).value();
    CHECK(pieces.next().value().size() == 8000);
    CHECK(pieces.next().value().empty());
}

TEST_CASE("of files of one size in the folder the digest tells which is the shard") {
    using namespace built_2;
    const bytes a = data_shard("a"), b = data_shard("b"), other = data_shard("c");
    file root;
    root.shard("1", a, sha256_of(a)).shard("2", b, sha256_of(b));
    root.add_in_shard("a", "1", 1).add_in_shard("b", "2", 1);
    const support::temp_dir folder;
    support::write_file(folder / "root", root.content()); // of any name
    support::write_file(folder / "y", a);
    support::write_file(folder / "x", b);
    support::write_file(folder / "w", other);
    std::filesystem::create_directory(folder / "v");
    std::error_code ignored; // where links can't be made there is none
    std::filesystem::create_symlink("nowhere", folder / "link", ignored);
    const auto by_digest = ztensor::read_options().shards(ztensor::shard_lookup::by_digest);
    const auto by_name = reader::open(folder / "root"); // which opens nothing else
    REQUIRE(refusal(by_name) == errc::shard_missing);
    CHECK(by_name.error().sentence().find("shard_lookup::by_digest") != std::string::npos);
    const auto from = reader::open(folder / "root", by_digest);
    REQUIRE(outcome(from) == "ok");
    CHECK(from->read<std::uint8_t>("a").value() == std::vector<std::uint8_t>{'a'});
    CHECK(from->read<std::uint8_t>("b").value() == std::vector<std::uint8_t>{'b'});
    CHECK(from->verify());

    support::write_file(folder / "root-1.zt", other); // which has the name that nobody doubts before verifying
    const reader with_other = reader::open(folder / "root", by_digest).value();
    CHECK(refusal(with_other.verify()) == errc::shard_mismatch);
    std::filesystem::remove(folder / "root-1.zt");
    std::filesystem::remove(folder / "y");
    std::filesystem::create_directory(folder / "root-1.zt");
    const auto without = reader::open(folder / "root", by_digest);
    REQUIRE(refusal(without) == errc::shard_mismatch); // something is there
}

TEST_CASE("each file in the folder of shards is opened and read once, however many there are") {
    using namespace built_2;
    const auto calls_for = [](int count) {
        const support::temp_dir folder;
        file root;
        for (int i = 0; i < count; ++i) { // all of one size, found in the worst order
            const bytes shard = data_shard(std::to_string(1000 + i));
            root.shard(std::to_string(i), shard, sha256_of(shard))
                .add_in_shard(std::to_string(i), std::to_string(i), 1);
            support::write_file(folder / ("other" + std::to_string(1000 - i)), shard);
        }
        support::write_file(folder / "root.zt", root.content());
        ztensor::detail::opened_file opened;
        opened.options.shards(ztensor::shard_lookup::by_digest);
        opened.source =
            ztensor::detail::open_source(folder / "root.zt", ztensor::read_options().mode(ztensor::io_mode::positional))
                .value();
        opened.file_bytes = opened.source->size();
        REQUIRE(ztensor::detail::open_container(opened));
        support::faulty_os os;
        {
            const auto all = ztensor::detail::shard_finder(opened, (folder / "root.zt").native(), os).assemble();
            REQUIRE(outcome(all) == "ok");
        }
        CHECK(os.open_handles == 0);
        return std::pair(os.count("open_from"), os.count("read"));
    };
    const auto [opens, reads] = calls_for(20);
    const auto [opens_of_more, reads_of_more] = calls_for(80);
    CHECK(opens <= 20 * 3); // by two names, and to be hashed
    CHECK(opens_of_more <= 80 * 3);
    CHECK(reads <= 20 * 3); // both ends, and all of it
    CHECK(reads_of_more <= 80 * 3);
}

#if !defined(_WIN32)

TEST_CASE("a shard that is found by its digest is the file that was hashed, whatever has its name by then") {
    using namespace built_2;
    const bytes hashed = data_shard("a"), other = data_shard("b");
    for (const int held_open : {0, 32}) { // by others: with 32, the shard is one that is opened for each call
        CAPTURE(held_open);
        std::vector<std::unique_ptr<detail::held_source>> others;
        for (int i = 0; i < held_open; ++i) {
            others.push_back(std::make_unique<detail::held_source>());
        }
        const support::temp_dir folder;
        file root;
        root.shard("1", hashed, sha256_of(hashed)).add_in_shard("a", "1", 1);
        support::write_file(folder / "root.zt", root.content());
        support::write_file(folder / "shard", hashed);
        std::filesystem::create_directory(folder / "in");
        support::write_file(folder / "in" / "other", other);
        detail::opened_file opened;
        opened.options.shards(ztensor::shard_lookup::by_digest);
        opened.source =
            detail::open_source(folder / "root.zt", ztensor::read_options().mode(ztensor::io_mode::positional)).value();
        opened.file_bytes = opened.source->size();
        REQUIRE(detail::open_container(opened));
        exchanging_os os([&] { std::filesystem::rename(folder / "in" / "other", folder / "shard"); });
        {
            const auto all = detail::shard_finder(opened, (folder / "root.zt").native(), os).assemble();
            REQUIRE(outcome(all) == "ok");
            CHECK_FALSE(std::filesystem::exists(folder / "in" / "other"));
            std::byte content{};
            const std::uint64_t at = opened.index.shards[0].base + 4096;
            CHECK(outcome((*all)->read_at(at, ztensor::span<std::byte>(&content, 1))) == "ok");
            CHECK(content == std::byte{'a'});
        }
        CHECK(os.open_handles == 0);
    }
}

#endif

TEST_CASE("a model of more shards than a process may have files open is read, viewed and verified by several threads") {
    using namespace built_2;
    constexpr int count = 300;
    const support::temp_dir folder;
    write_shards(folder, count);
    const support::few_handles limit(64);
    for (const auto mode : {ztensor::io_mode::automatic, ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
        CAPTURE(static_cast<int>(mode));
        const auto from = reader::open(folder / "root.zt", ztensor::read_options().mode(mode));
        REQUIRE(outcome(from) == "ok");
        std::vector<std::vector<std::uint8_t>> loaded(count, std::vector<std::uint8_t>(4));
        ztensor::load_plan plan(*from);
        for (int i = 0; i < count; ++i) {
            plan.add(std::to_string(i), loaded[static_cast<std::size_t>(i)]);
        }
        CHECK(outcome(plan.run(ztensor::load_options().threads(4))) == "ok");
        std::atomic<int> right{0};
        const auto read_all = [&](int first) {
            for (int i = 0; i < count; ++i) {
                const int at = (first + i * 7) % count;
                const auto read = from->read<std::uint8_t>(std::to_string(at));
                right += read && std::string(read->begin(), read->end()) == std::to_string(1000 + at) ? 1 : 0;
            }
        };
        std::vector<std::thread> threads;
        for (const int first : {0, 100, 200}) {
            threads.emplace_back(read_all, first);
        }
        for (std::thread& each : threads) {
            each.join();
        }
        CHECK(right == 3 * count);
        CHECK(outcome(from->verify(4)) == "ok");
        std::vector<ztensor::span<const std::uint8_t>> views;
        for (int i = 0; i < count; ++i) {
            const std::vector<std::uint8_t>& each = loaded[static_cast<std::size_t>(i)];
            CHECK(std::string(each.begin(), each.end()) == std::to_string(1000 + i));
            if (from->is_mapped()) {
                views.push_back(from->view<std::uint8_t>(std::to_string(i)).value());
            }
        }
        for (std::size_t i = 0; i < views.size(); ++i) { // long after the handles are closed
            CHECK(std::string(views[i].begin(), views[i].end()) == std::to_string(1000 + i));
        }
    }
}

TEST_CASE("shards that are changed or replaced while the model is open are not read where they are opened again") {
    using namespace built_2;
    constexpr int count = 60; // so that the last ones are not held open
    const support::temp_dir folder;
    write_shards(folder, count);
    const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    for (int i = 0; i < count; ++i) {
        std::filesystem::last_write_time(folder / ("root-" + std::to_string(i) + ".zt"), long_ago);
    }
    const auto options = ztensor::read_options().mode(ztensor::io_mode::positional).verify_digests(false);
    const reader from = reader::open(folder / "root.zt", options).value();
    const auto read = [&](int i) { return from.read<std::uint8_t>(std::to_string(i)); };
    const auto read_others = [&] { // so that the handles of these are closed
        for (int i = 48; i < count; ++i) {
            REQUIRE(outcome(read(i)) == "ok");
        }
    };
    const std::filesystem::path shard = folder / "root-45.zt", elsewhere = folder / "elsewhere";
    REQUIRE(outcome(read(45)) == "ok");
    read_others();
    std::filesystem::rename(shard, elsewhere);
    CHECK(refusal(read(45)) == errc::file_changed); // it is not there
    support::write_file(shard, data_shard("9999"));
    std::filesystem::last_write_time(shard, long_ago);
    CHECK(refusal(read(45)) == errc::file_changed); // another file of that size and time
    std::filesystem::remove(shard);
    std::filesystem::rename(elsewhere, shard);
    CHECK(outcome(read(45)) == "ok"); // it is back
    read_others();
    support::write_file(shard, data_shard("9999")); // the same file, written to
    CHECK(refusal(read(45)) == errc::file_changed);
    support::write_file(folder / "root-44.zt", "");
    CHECK(refusal(read(44)) == errc::file_changed);
    CHECK(outcome(read(0)) == "ok");
}

#if !defined(_WIN32)

TEST_CASE("a mapped shard is asked for by its open file, or by one that proves to be the same, not by its name") {
    using namespace built_2;
    const support::temp_dir folder;
    write_shards(folder, 10);
    auto& os = detail::operating_system_for_reading();
    const auto mapped = [&](int i) {
        const std::string path = (folder / ("root-" + std::to_string(i) + ".zt")).string();
        detail::file opened = detail::file::open(path).value();
        const detail::reopenable known{&os, path, os.status(opened.handle()).value};
        const auto options = ztensor::read_options().mode(ztensor::io_mode::mapped).stable_file();
        auto source = std::make_unique<detail::reopened_source>(known, options, path);
        source->keep(std::move(opened));
        REQUIRE(outcome(source->map()) == "ok");
        return source;
    };
    const std::filesystem::path path = folder / "root-0.zt", elsewhere = folder / "elsewhere";
    const auto shard = mapped(0);
    std::filesystem::rename(path, elsewhere);
    CHECK(outcome(shard->check_unchanged()) == "ok"); // it is open
    std::vector<std::unique_ptr<detail::reopened_source>> others;
    for (int i = 1; i < 10; ++i) { // so that its handle is closed
        others.push_back(mapped(i));
    }
    CHECK(refusal(shard->check_unchanged()) == errc::file_changed); // it is not there
    std::filesystem::copy_file(elsewhere, path);
    CHECK(refusal(shard->check_unchanged()) == errc::file_changed); // another file of that content
    std::filesystem::rename(elsewhere, path);
    CHECK(outcome(shard->check_unchanged()) == "ok"); // it is back
    std::filesystem::resize_file(path, 100);
    CHECK(refusal(shard->check_unchanged()) == errc::file_changed); // its open file is cut off
}

#endif

#if !defined(_WIN32)

TEST_CASE("a child that is forked off while threads read shards reads shards by itself") {
    using namespace built_2;
    if (!support::forks_beside_allocating_threads()) {
        return;
    }
    constexpr int count = 48; // so that the last ones are not held open
    const support::temp_dir folder;
    write_shards(folder, count);
    const reader from =
        reader::open(folder / "root.zt", ztensor::read_options().mode(ztensor::io_mode::positional)).value();
    const auto is_read = [&](int i) {
        const auto read = from.read<std::uint8_t>(std::to_string(i));
        return read && std::string(read->begin(), read->end()) == std::to_string(1000 + i);
    };
    std::atomic<bool> is_over{false};
    std::atomic<bool> has_failed{false};
    std::vector<std::thread> threads;
    for (int first = 32; first < 36; ++first) {
        threads.emplace_back([&, first] {
            while (!is_over) {
                has_failed = has_failed || !is_read(first);
            }
        });
    }
    int wrong = 0;
    for (int i = 0; i < 100 && wrong == 0; ++i) {
        wrong += support::exit_code_of([&] {
            ::alarm(20);
            const bool is_whole = is_read(47) && is_read(47);
            return is_whole && reader::open(folder / "root.zt").has_value() ? 0 : 1; // and is closed again
        });
    }
    is_over = true;
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(wrong == 0);
    CHECK_FALSE(has_failed);
}

#endif

TEST_CASE("a file of a shard's name and size that is none of version 2 is not the shard") {
    using namespace built_2;
    const bytes a = data_shard("a");
    file root;
    root.shard("1", a, "md5:00").add_in_shard("a", "1", 1);
    const support::temp_dir folder;
    support::write_file(folder / "root.zt", root.content());
    support::write_file(folder / "root-1.zt", a);
    const auto good = reader::open(folder / "root.zt");
    REQUIRE(outcome(good) == "ok");
    CHECK(good->verify()); // as far as anyone knows
    for (const std::size_t position : {std::size_t{0}, a.size() - 1, a.size() - 16}) {
        bytes other = a;
        other[position] ^= '\1';
        support::write_file(folder / "root-1.zt", other);
        CAPTURE(position);
        CHECK(refusal(reader::open(folder / "root.zt")) == errc::shard_mismatch);
    }
}

TEST_CASE("of many missing shards the first few are named") {
    using namespace built_2;
    const bytes a = data_shard("a");
    file root;
    for (int i = 10; i < 30; ++i) {
        root.shard(std::to_string(i), a, sha256_of(a)).add_in_shard(std::to_string(i), std::to_string(i), 1);
    }
    const support::temp_dir folder;
    support::write_file(folder / "root.zt", root.content());
    const auto missing = reader::open(folder / "root.zt");
    REQUIRE(refusal(missing) == errc::shard_missing);
    CHECK(missing.error().what().find("20 of 20") != std::string::npos);
    CHECK(missing.error().what().find("\"25\"") != std::string::npos);
    CHECK(missing.error().what().find("\"26\"") == std::string::npos);
    for (const char* const each : {"root-10.zt", "root-11.zt"}) {
        support::write_file(folder / each, "x");
    }
    CHECK(refusal(reader::open(folder / "root.zt")) == errc::shard_mismatch);
}

TEST_CASE("elements of microscaled weights are of one of four types") {
    using namespace built_2;
    const bytes attributes = cbor::map{
        {"axis", cbor::number(0)}, {"block_size", cbor::number(32)}, {"scale_form", cbor::text("e8m0_exponent")}};
    const auto opened = [&](const std::string& dtype, const std::string& type) {
        file made;
        made.add("w", "zt.mx/1", {32}, {{"data", dtype, bytes(32, '\x3c'), type}, {"scales", "u8", "\x7f", "f8_e8m0"}},
                 attributes);
        return support::open_bytes(made.content());
    };
    CHECK(opened("u8", "f8_e5m2").value().read_as<float>("w").value() == std::vector<float>(32, 1.0F));
    CHECK(opened("i8", "").value().read_as<float>("w").value() == std::vector<float>(32, 60.0F / 64));
    CHECK(outcome(opened("u8", "f8_e4m3fn")) == "ok");
    CHECK(outcome(opened("u8", "")) == "type_mismatch");
    CHECK(outcome(opened("u8", "f8_e4m3fnuz")) == "type_mismatch");
}

TEST_CASE("a digest longer than its algorithm's opens and matches nothing") {
    using namespace built_2;
    for (const std::size_t digits : {15U, 16U, 17U, 255U, 256U, 3000U}) {
        const reader from =
            file().add("w", "dense", {1}, {{"data", "u8", "x", {}, {}, "xxh3:" + std::string(digits, '0')}}).open();
        CAPTURE(digits);
        CHECK(from.verify().value().mismatches.size() == 1);
        CHECK(refusal(from.read<std::uint8_t>("w")) == errc::digest_mismatch);
    }
}

TEST_CASE("zeros that are packed as the codes are stand in words as the codes do") {
    using namespace built_2;
    const bytes packing =
        cbor::map{{"word", cbor::text("u32")}, {"order", cbor::text("lsb_first")}, {"per_word", cbor::number(8)}};
    const bytes attributes =
        cbor::map{{"axis", cbor::number(0)},
                  {"bits", cbor::number(4)},
                  {"packing", packing},
                  {"group_size", cbor::number(8)},
                  {"scale_form", cbor::text("f32_factors")},
                  {"zero_point", cbor::map{{"form", cbor::text("tensor")}, {"packing", cbor::text("same_as_data")}}}};
    const auto open = [&](const std::string& dtype) {
        return file()
            .add("w", "zt.quant_group/1", {64},
                 {{"data", "u32", support::little_endian(std::vector<std::uint64_t>(8, 0x22222222), 4)},
                  {"zeros", dtype, support::little_endian(0x11111111, 4)},
                  {"scales", "f32", support::little_endian(std::vector<std::uint64_t>(8, 0x3f800000), 4)}},
                 attributes)
            .open();
    };
    CHECK(open("u32").read_as<float>("w").value() == std::vector<float>(64, 1));
    CHECK(open("i32").read_as<float>("w").value() == std::vector<float>(64, 1));
    for (const char* const other : {"f32", "u8", "u16"}) { // of as many bytes
        CAPTURE(other);
        CHECK(refusal(open(other).read_as<float>("w")) == errc::unsupported_type);
    }
    // Weights that become floats have a shape, whoever asks for it.
    const reader of_words = open("u32");
    const auto acquired = of_words["w"].acquire_as<float>();
    REQUIRE(outcome(acquired) == "ok");
    CHECK(acquired->shape() == ztensor::shape{64});
}

TEST_CASE("packed elements are viewed where they are floats of four bits") {
    using namespace built_2;
    const auto outcome_of = [](const std::string& type) {
        const reader from = file().add("w", "own/1", {4}, {{"values", "u8", bytes("\1\2\3"), type}}).open();
        return outcome(ztensor::packed_view::from(from.find("w")->component("values").value()));
    };
    CHECK(outcome_of("f4_e2m1") == "ok");
    for (const char* const other : {"f6_e2m3", "i4", "u2", "own", ""}) {
        CAPTURE(other);
        CHECK(outcome_of(other) == "unsupported_type");
    }
}

TEST_CASE("elements share bytes where they are stored as bytes") {
    using namespace built_2;
    support::sample nibbles;
    nibbles.component("type", cbor::text("u4")).shape({2});
    const auto outcome_of = [&](const char* dtype, const bytes& content) {
        return outcome(support::opened(nibbles.dtype(dtype).blob(content).file()).read_as<float>("w"));
    };
    CHECK(outcome_of("u8", "\x21") == "ok");
    CHECK(outcome_of("u16", bytes("\x21\0\1\0", 4)) == "unsupported_type");
}

TEST_CASE("a stated digest is its text") {
    using namespace built_2;
    const bytes content = "abc";
    const reader from = file()
                            .add("a", "dense", {3}, {{"data", "u8", content, {}, {}, sha256_of(content)}})
                            .add("b", "dense", {3}, {{"data", "u8", content, {}, {}, sha256_of(content)}})
                            .add("c", "dense", {3}, {{"data", "u8", content, {}, {}, sha256_of("other")}})
                            .add("d", "dense", {3}, {{"data", "u8", content}})
                            .open();
    const auto digest_of = [&](const char* name) { return from[name]["data"].digest(); };
    CHECK(digest_of("a") == digest_of("b"));
    CHECK_FALSE(digest_of("a") != digest_of("b"));
    CHECK(digest_of("a") != digest_of("c"));
    CHECK(digest_of("a") != digest_of("d"));
    CHECK(digest_of("d") == ztensor::stated_digest());
    std::ostringstream out;
    out << digest_of("a") << digest_of("d");
    CHECK(out.str() == sha256_of(content));
    CHECK_FALSE(from["absent"]["data"].dtype().is_present());
    CHECK_FALSE(from["absent"]["data"].digest().is_present());
}

TEST_CASE("bools that break their rule do so in whichever piece, and none of them are none") {
    using namespace built_2;
    bytes many(5 << 20, '\1');
    for (const std::size_t at : std::initializer_list<std::size_t>{0, 3 << 20, (5 << 20) - 1}) {
        CAPTURE(at);
        bytes broken = many;
        broken[at] = '\2';
        const reader from =
            file().add("w", "dense", {broken.size()}, {{"data", "u8", broken, "bool", {}, sha256_of(broken)}}).open();
        CHECK(refusal(from.verify()) == errc::bad_bool);
    }
    const reader empty = file().add("w", "dense", {0}, {{"data", "u8", "", "bool", {}, sha256_of("x")}}).open();
    CHECK(refusal(empty.read_into("w", ztensor::span<bool>())) == errc::digest_mismatch);
}

TEST_CASE("an element is held where its type says all of it") {
    using namespace built_2;
    const bytes one_and_two = support::little_endian({0x3f800000, 0x40000000}, 4);
    const reader from = file()
                            .add("c", "dense", {1}, {{"data", "f32", one_and_two, "complex64"}})
                            .add("f", "dense", {2}, {{"data", "f32", one_and_two}})
                            .add("i", "dense", {1}, {{"data", "i64", support::little_endian(~std::uint64_t{2}, 8)}})
                            .open();
    CHECK(from["f"].acquire_as<float>().value()[1] == 2);
    CHECK(refusal(from["c"].acquire_as<float>()) == errc::unsupported_type);
    const reader halves =
        file().add("h", "dense", {1 << 21}, {{"data", "f16", support::repeated(1 << 21, bytes("\0\x3c", 2))}}).open();
    const auto converted = halves["h"].acquire_as<float>(); // into memory that nothing was written to yet
    REQUIRE(outcome(converted) == "ok");
    CHECK(std::count(converted->begin(), converted->end(), 1.0F) == 1 << 21);
    const reader narrow = file().add("e", "dense", {1}, {{"data", "u8", bytes("\x3c"), "f8_e5m2"}}).open();
    CHECK(static_cast<float>(narrow["e"].acquire_as<ztensor::float8_e5m2>().value()[0]) == 1);
    // What a long double holds and a double does not, of rows too.
    CHECK(from["i"].rows(0, 1).read_as<long double>().value() == std::vector<long double>{-3});
    CHECK(from["f"].rows(1, 2).read_as<long double>().value() == std::vector<long double>{2});
    CHECK(from["f"]["data"].part(1, 2, 2).read_as<long double>().value() == std::vector<long double>{2});
}

TEST_CASE("shards are called after the root without its ending, in letters of any case") {
    using namespace built_2;
    for (const char* const name : {"root.zt", "root.ZT", "root.Zt"}) {
        CAPTURE(name);
        const support::temp_dir folder;
        write_shards(folder, 2);
        std::filesystem::rename(folder / "root.zt", folder / name);
        CHECK(outcome(reader::open(folder / name)) == "ok");
    }
    for (const char* const name : {"root.zu", "root-zt", "root.zt2"}) {
        CAPTURE(name);
        const support::temp_dir folder;
        write_shards(folder, 2);
        std::filesystem::rename(folder / "root.zt", folder / name);
        CHECK(refusal(reader::open(folder / name)) == errc::shard_missing);
    }
}

TEST_CASE("what has a shard's size and is no file of version 2 is passed over on the way to the shard") {
    using namespace built_2;
    const support::temp_dir folder;
    write_shards(folder, 1);
    const bytes shard = support::read_file(folder / "root-0.zt");
    std::filesystem::rename(folder / "root-0.zt", folder / "m.zt");
    support::write_file(folder / "a.zt", bytes(shard.size(), '\0'));
    support::write_file(folder / "z.zt", bytes(shard.size(), '\0'));
    const auto found =
        reader::open(folder / "root.zt", ztensor::read_options().shards(ztensor::shard_lookup::by_digest));
    REQUIRE(outcome(found) == "ok");
    CHECK(found->verify().value().ok());
}

TEST_CASE("a process that has no handles left closes those that are not in use, and opens the file") {
    using namespace built_2;
    const support::temp_dir folder;
    support::write_file(folder / "f", "content");
    for (const std::errc none_left : {std::errc::too_many_files_open, std::errc::too_many_files_open_in_system}) {
        support::faulty_os os;
        const detail::native_path path = (folder / "f").native();
        const auto handle = os.open_existing(path);
        const detail::reopenable wanted = {&os, path, os.status(handle.value).value};
        os.close(handle.value);
        detail::handle_cache& cache = detail::handle_cache::get();
        os.failing_name = "open_existing";
        os.failure = std::make_error_code(none_left);
        os.failing_times = 1;
        CHECK(outcome(cache.find(wanted)) == "ok");
        CHECK(os.count("open_existing") == 3);
        cache.forget(wanted);
        os.failing_times = support::faulty_os::never;
        CHECK(outcome(cache.find(wanted)) != "ok");
        CHECK(os.count("open_existing") == 5);
        os.failing_name.clear();
        const std::size_t before = os.calls.size();
        CHECK(outcome(cache.find(wanted)) == "ok");
        const std::size_t calls = os.calls.size() - before; // to open it, and to see that it is the same
        cache.forget(wanted);
        os.failure = std::make_error_code(std::errc::io_error);
        for (std::size_t call = 0; os.calls[before + call] != "close"; ++call) {
            CAPTURE(call);
            os.first_failing_call = os.calls.size() + call;
            CHECK(refusal(cache.find(wanted)) == errc::io_error);
            REQUIRE(call < calls);
        }
        CHECK(os.open_handles == 0);
    }
}

TEST_CASE("models of version 2 in more files than are held open find their shards all the same") {
    using namespace built_2;
    const support::temp_dir folder;
    std::vector<std::filesystem::path> paths;
    for (int i = 0; i < 40; ++i) {
        const std::string name = std::to_string(100 + i);
        const bytes shard = data_shard(name);
        support::write_file(folder / (name + "-s.zt"), shard);
        paths.push_back(folder / (name + ".zt"));
        support::write_file(paths.back(),
                            file().shard("s", shard, sha256_of(shard)).add_in_shard(name, "s", 3).content());
    }
    for (const ztensor::io_mode mode : {ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
        const auto all = ztensor::open_any(std::vector<ztensor::file_path>(paths.begin(), paths.end()),
                                           ztensor::read_options().mode(mode));
        REQUIRE(outcome(all) == "ok");
        for (int i = 0; i < 40; ++i) {
            const std::string name = std::to_string(100 + i);
            CHECK(support::memory_of(all->read<std::uint8_t>(name).value()) == name);
        }
        CHECK(all->verify().value().ok());
        CHECK(all->is_mapped() == (mode == ztensor::io_mode::mapped));
        CHECK(all->manifest_bytes() > 40 * 100);
    }
}

TEST_CASE("bytes that break a rule beside their digest are taken as they are stored, and damaged ones are not") {
    using namespace built_2;
    const auto outcome_of = [](const std::string& type, const bytes& content, const std::string& digest) {
        const reader from = file().add("w", "dense", {1}, {{"data", "u8", content, type, {}, digest}}).open();
        ztensor::object_draft draft("own/1", {1});
        draft.component_stored("values", from["w"]["data"]);
        auto to = ztensor::writer::to_memory(ztensor::write_options().version(ztensor::format_version::v2)).value();
        return outcome(to.add_object("w", draft));
    };
    for (const char* const type : {"bool", "f4_e2m1"}) {
        CAPTURE(type);
        const bytes wrong = bytes("\x12"); // no bool, and more than one float
        CHECK(outcome_of(type, wrong, sha256_of(wrong)) == "ok");
        CHECK(outcome_of(type, wrong, sha256_of("other")) == "digest_mismatch");
    }
}
