// SPDX-License-Identifier: MIT
//
// read_options::stable_file(): with it bytes of a mapped file are used where they lie, without it only views look at
// the mapping; and in no case is anybody kept from writing to the file.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/array.hpp>
#include <ztensor/copy.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/read/sources.hpp>
#include <ztensor/detail/read/stored.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/options.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace {

namespace promising {

using support::faulty_os;
using support::outcome;
using ztensor::format_version;
using ztensor::io_mode;
using ztensor::read_options;
using ztensor::reader;
using ztensor::detail::open_source;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t promised_rows = 1024, columns = 1024; // 4 MiB of floats

std::vector<float> promised_numbers() {
    std::vector<float> made(promised_rows * columns);
    std::uint32_t state = 1;
    for (float& each : made) {
        state = state * 1664525U + 1013904223U;
        each = static_cast<float>(state >> 20);
    }
    return made;
}

support::bytes promised_content(format_version version) {
    const std::vector<float> floats = promised_numbers();
    std::vector<ztensor::bfloat16> narrow;
    for (const float each : floats) {
        narrow.push_back(ztensor::bfloat16(each));
    }
    const auto digest = version == format_version::v2 ? ztensor::digest::xxh3 : ztensor::digest::crc32c;
    const auto options = ztensor::write_options().version(version).any_order();
    const auto written = support::written(options, [&](ztensor::writer& to) {
        to.add("raw", {promised_rows, columns}, floats).value();
        to.add("narrow", {promised_rows, columns}, narrow).value();
        to.add("zstd", {promised_rows, columns}, floats, ztensor::store().zstd()).value();
        to.add("few", {1000}, ztensor::span<const float>(floats).first(1000), ztensor::store().zstd()).value();
        to.add("checked", {promised_rows, columns}, floats, ztensor::store().digest(digest)).value();
        std::vector<std::uint64_t> coords(100);
        std::iota(coords.begin(), coords.end(), std::uint64_t{0});
        to.add_coo("bools", {100}, std::vector<bool>(100, true), coords).value();
    });
    return support::as_string(ztensor::bytes_view(written));
}

/// One way to read, and what comes of it.
struct verb {
    const char* name;
    std::function<std::string(const reader&)> run;
    bool converts = false; ///< what is stored in another byte order than the host's is turned around first, in a copy
};

/// Those that use bytes where they lie, if they may.
std::vector<verb> verbs_in_place() {
    const auto floats = std::make_shared<std::vector<float>>(promised_rows * columns);
    return {
        {"read_into", [=](const reader& file) { return outcome(file.read_into("raw", *floats)); }},
        {"load", [](const reader& file) { return outcome(file.load<float>("raw")); }},
        {"read_as_into", [=](const reader& file) { return outcome(file.read_as_into("narrow", *floats)); }, true},
        {"read_as", [](const reader& file) { return outcome(file.read_as<float>("narrow")); }, true},
        {"read_into of zstd", [=](const reader& file) { return outcome(file.read_into("zstd", *floats)); }},
        {"read_slice of short runs",
         [](const reader& file) {
             return outcome(file["raw"].slice({{0, promised_rows}, {3, 5}}).read<float>());
         }},
        {"read_rows", [](const reader& file) { return outcome(file["raw"].rows(1, promised_rows).read<float>()); }},
        {"plan",
         [=](const reader& file) {
             ztensor::load_plan plan(file);
             plan.add("raw", *floats);
             return outcome(plan.run(ztensor::load_options().threads(2)));
         }},
        {"plan of conversions",
         [=](const reader& file) {
             ztensor::load_plan plan(file);
             plan.add_as("narrow", *floats);
             return outcome(plan.run(ztensor::load_options().threads(2)));
         },
         true},
        {"plan of zstd",
         [=](const reader& file) {
             ztensor::load_plan plan(file);
             plan.add("zstd", *floats);
             return outcome(plan.run(ztensor::load_options().threads(2)));
         }},
    };
}

/// The others.
std::vector<verb> other_verbs() {
    return {
        {"read", [](const reader& file) { return outcome(file.read<float>("raw")); }},
        {"read of zstd", [](const reader& file) { return outcome(file.read<float>("zstd")); }},
        {"read of little zstd", [](const reader& file) { return outcome(file.read<float>("few")); }},
        {"read with a digest", [](const reader& file) { return outcome(file.read<float>("checked")); }},
        {"coo_view of bools",
         [](const reader& file) { return outcome(ztensor::coo_view<bool>::from(file.find("bools").value())); }},
        {"read_stored",
         [](const reader& file) {
             std::vector<std::byte> some(100);
             return outcome(file.find("raw")->data()->read_stored_into(some, 0));
         }},
        {"verify", [](const reader& file) { return outcome(file.verify()); }},
        {"verify of one", [](const reader& file) { return outcome(file.find("checked")->data()->verify()); }},
        {"pieces",
         [](const reader& file) {
             auto pieces = ztensor::component_pieces::open(file.find("raw")->data().value()).value();
             auto piece = pieces.next();
             while (piece && !piece->empty()) {
                 piece = pieces.next();
             }
             return outcome(piece);
         }},
        {"copy",
         [](const reader& file) {
             ztensor::writer to = ztensor::writer::to_memory().value();
             return outcome(ztensor::copy(
                 file, to, ztensor::copy_options().select([](const auto& object) { return object.name() == "raw"; })));
         }},
        {"export",
         [](const reader& file) {
             const support::temp_dir folder;
             const auto options =
                 ztensor::export_options().sync(ztensor::sync_level::none).select([](const auto& object) {
                     return object.name() == "raw";
                 });
             return outcome(ztensor::export_npz(file, folder / "f.npz", options));
         }},
    };
}

/// A file that is reached through a system that keeps count.
struct counted_file {
    faulty_os os;
    std::optional<reader> file;

    counted_file(const std::filesystem::path& path, const read_options& options) {
        file = reader::from_source(open_source(path, options, os).value(), options).value();
    }
};

} // namespace promising

} // namespace

TEST_CASE("without the promise nothing but a view looks at a mapping") {
    for (const auto version : {promising::format_version::v1_2, promising::format_version::v2}) {
        const support::temp_dir directory;
        support::write_file(directory / "f.zt", promising::promised_content(version));
        promising::counted_file counted(directory / "f.zt", ztensor::read_options());
        for (const auto& verbs : {promising::verbs_in_place(), promising::other_verbs()}) {
            for (const promising::verb& each : verbs) {
                CAPTURE(each.name);
                const std::size_t reads_before = counted.os.count("read");
                CHECK(each.run(*counted.file) == "ok");
                CHECK(counted.os.count("read") > reads_before);
                CHECK(counted.os.count("map") == 0);
            }
        }
        CHECK(counted.file->view<std::byte>("raw").has_value());
        CHECK(counted.os.count("map") == 1);
    }
}

TEST_CASE("with the promise large data is used where it lies in the mapping") {
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", promising::promised_content(promising::format_version::v1_2));
    for (const auto mode : {promising::io_mode::automatic, promising::io_mode::mapped}) {
        promising::counted_file counted(directory / "f.zt", ztensor::read_options().mode(mode).stable_file());
        for (const promising::verb& each : promising::verbs_in_place()) {
            CAPTURE(each.name);
            const std::size_t reads_before = counted.os.count("read");
            CHECK(each.run(*counted.file) == "ok");
            CHECK(((counted.os.count("read") == reads_before) || (each.converts && !support::host_is_little_endian())));
        }
        const std::size_t reads_before = counted.os.count("read");
        CHECK(counted.file->verify().value().verified == 1);
        CHECK(counted.file->find("checked")->data()->verify().value() == ztensor::digest_state::match);
        CHECK(counted.file->read<float>("few").has_value());
        CHECK(counted.os.count("read") == reads_before);
        CHECK(counted.os.count("map") == 1);
        for (const promising::verb& each : promising::other_verbs()) {
            CAPTURE(each.name);
            CHECK(each.run(*counted.file) == "ok");
        }
    }
}

TEST_CASE("the promise changes nothing of what is read") {
    const support::temp_dir directory;
    for (const auto version : {promising::format_version::v1_2, promising::format_version::v2}) {
        support::write_file(directory / "f.zt", promising::promised_content(version));
        const auto file = ztensor::reader::open(directory / "f.zt", ztensor::read_options().stable_file()).value();
        const std::vector<float> expected = promising::promised_numbers();
        for (const char* const name : {"raw", "zstd", "checked"}) {
            CAPTURE(name);
            CHECK(file.read<float>(name).value() == expected);
            std::vector<float> into(expected.size());
            REQUIRE(file.read_into(name, into).has_value());
            CHECK(into == expected);
            ztensor::load_plan plan(file);
            std::fill(into.begin(), into.end(), 0.0F);
            plan.add(name, into);
            REQUIRE(plan.run(ztensor::load_options().threads(2)).has_value());
            CHECK(into == expected);
            const auto slice = file[name].slice({{0, promising::promised_rows}, {5, 6}}).read<float>().value();
            CHECK(slice[7] == expected[7 * promising::columns + 5]);
            std::vector<double> wide(expected.size());
            REQUIRE(file.read_as_into(name, wide).has_value());
            CHECK(std::equal(wide.begin(), wide.end(), expected.begin()));
        }
        CHECK(file.verify().value().ok());
    }
}

TEST_CASE("who asks for positional reads gets them, whatever is promised") {
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", promising::promised_content(promising::format_version::v1_2));
    const auto positional = ztensor::read_options().mode(promising::io_mode::positional).stable_file();
    promising::counted_file counted(directory / "f.zt", positional);
    for (const promising::verb& each : promising::verbs_in_place()) {
        CAPTURE(each.name);
        const std::size_t reads_before = counted.os.count("read");
        CHECK(each.run(*counted.file) == "ok");
        CHECK(counted.os.count("read") > reads_before);
    }
    CHECK(counted.os.count("map") == 0);
}

TEST_CASE("where the system maps nothing, a file of which it was promised is read") {
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", promising::promised_content(promising::format_version::v1_2));
    promising::counted_file counted(directory / "f.zt", ztensor::read_options().stable_file());
    counted.os.failing_name = "map";
    for (const promising::verb& each : promising::verbs_in_place()) {
        CAPTURE(each.name);
        CHECK(each.run(*counted.file) == "ok");
    }
    CHECK(counted.os.open_mappings == 0);
}

TEST_CASE("large reads are the same wherever they come from and go to") {
    const std::size_t size = 19 * promising::mebibyte + 777;
    const support::bytes content = support::as_string(support::noise(size));
    const support::temp_dir directory;
    support::write_file(directory / "f", content);
    std::vector<std::byte> memory(size + 64);
    for (const bool is_stable : {false, true}) {
        support::faulty_os os;
        const auto source =
            promising::open_source(directory / "f", ztensor::read_options().stable_file(is_stable), os).value();
        for (const std::size_t misaligned : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}}) {
            for (const std::size_t offset : {std::size_t{0}, std::size_t{64}, std::size_t{777}}) {
                CAPTURE(is_stable, misaligned, offset);
                const ztensor::span<std::byte> place =
                    ztensor::span<std::byte>(memory).subspan(misaligned, size - offset);
                std::fill(memory.begin(), memory.end(), std::byte{0});
                const std::size_t reads_before = os.count("read");
                REQUIRE(ztensor::detail::read_bulk(*source, offset, place).has_value());
                CHECK(support::as_string(place) == content.substr(offset));
                CHECK((os.count("read") == reads_before) == is_stable);
                CHECK((misaligned == 0 || memory[misaligned - 1] == std::byte{0}));
                CHECK(memory[misaligned + place.size()] == std::byte{0});

                ztensor::detail::byte_buffer fresh; // whose pages nobody has written to
                REQUIRE(fresh.allocate(size + 64));
                const ztensor::span<std::byte> new_place = fresh.writable_bytes().subspan(misaligned, size - offset);
                REQUIRE(ztensor::detail::read_bulk(*source, offset, new_place).has_value());
                CHECK(std::equal(new_place.begin(), new_place.end(), place.begin()));
            }
        }
        CHECK(support::outcome(ztensor::detail::read_bulk(*source, 1, ztensor::span<std::byte>(memory).first(size))) ==
              "out_of_bounds");
        ztensor::detail::byte_buffer fresh;
        REQUIRE(fresh.allocate(size));
        CHECK(support::outcome(ztensor::detail::read_bulk(*source, 1, fresh.writable_bytes())) == "out_of_bounds");
    }
}

#if defined(__linux__)

namespace {

/// Whenever it is asked for a thread, which is in the middle of a call, somebody opens the file for writing.
class writing_executor final : public ztensor::executor {
public:
    explicit writing_executor(std::filesystem::path path) : path_(std::move(path)) {}

    [[nodiscard]] bool submit(void (*)(void*), void*) noexcept override {
        const int file = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK);
        ++(file >= 0 ? opened : refused);
        ::close(file);
        return false;
    }
    [[nodiscard]] unsigned concurrency() const noexcept override { return 2; }

    int opened = 0;
    int refused = 0;

private:
    std::filesystem::path path_;
};

/// Bytes that this process has asked the system to read so far; nothing where it does not say.
std::optional<std::uint64_t> bytes_read() {
    std::ifstream counts("/proc/self/io");
    std::string name;
    std::uint64_t count = 0;
    return counts >> name >> count && name == "rchar:" ? std::optional(count) : std::nullopt;
}

/// What reading all of the first tensor in place makes the system read.
std::uint64_t bytes_read_for(const ztensor::result<ztensor::object_view>& object) {
    std::vector<float> into(promising::promised_rows * promising::columns);
    const std::uint64_t before = bytes_read().value();
    REQUIRE(object.value().read_into(into).has_value());
    CHECK(into == promising::promised_numbers());
    return bytes_read().value() - before;
}

} // namespace

TEST_CASE("nobody is kept from writing to a file that is being read") {
    const support::temp_dir directory;
    support::write_file(directory / "f.zt", promising::promised_content(promising::format_version::v1_2));
    for (const bool is_stable : {false, true}) {
        writing_executor others(directory / "f.zt");
        const support::used_executor used(&others);
        const auto file =
            ztensor::reader::open(directory / "f.zt", ztensor::read_options().stable_file(is_stable)).value();
        for (const promising::verb& each : promising::verbs_in_place()) {
            CHECK(each.run(file) == "ok");
        }
        CHECK(file.verify(2).has_value());
        CHECK(others.opened > 1);
        CHECK(others.refused == 0);
    }
}

TEST_CASE("the promise holds for every file that is opened with it, whatever its format, and for shards") {
    if (!bytes_read()) {
        std::cerr << "SKIPPED: this system does not tell how much a process reads\n";
        return;
    }
    const support::temp_dir directory;
    const std::vector<float> floats = promising::promised_numbers();
    {
        auto out = ztensor::writer::create(directory / "f.zt").value();
        out.add("w", {promising::promised_rows, promising::columns}, floats).value();
        out.finish().value();
        const auto options = ztensor::write_options().version(promising::format_version::v2).shard_bytes(1 << 20);
        auto sharded = ztensor::writer::create(directory / "sharded.zt", options).value();
        sharded.add("w", {promising::promised_rows, promising::columns}, floats).value();
        sharded.finish().value();
    }
    const auto plain = ztensor::reader::open(directory / "f.zt").value();
    ztensor::export_safetensors(plain, directory / "f.safetensors").value();
    ztensor::export_npz(plain, directory / "f.npz").value();
    ztensor::export_npy(plain.find("w").value(), directory / "f.npy").value();
    support::write_file(directory / "model.safetensors.index.json", R"({"weight_map": {"w": "f.safetensors"}})");

    constexpr std::uint64_t all = promising::promised_rows * promising::columns * sizeof(float);
    for (const bool is_stable : {false, true}) {
        CAPTURE(is_stable);
        const auto options = ztensor::read_options().stable_file(is_stable);
        const auto is_right = [&](const ztensor::result<ztensor::object_view>& object) {
            return (bytes_read_for(object) >= all) == !is_stable;
        };
        for (const char* const name : {"f.zt", "sharded.zt", "f.safetensors", "f.npz", "f.npy"}) {
            CAPTURE(name);
            const auto file = ztensor::open_any(directory / name, options);
            REQUIRE(file.has_value());
            CHECK(is_right(*file->begin()));
        }
        const auto opened = ztensor::reader::open(directory / "sharded.zt", options);
        REQUIRE(opened.has_value());
        CHECK(is_right(opened->find("w")));
        const auto set = ztensor::open_any(directory / "model.safetensors.index.json", options);
        REQUIRE(set.has_value());
        CHECK(is_right(set->find("w")));
    }
}

#endif
