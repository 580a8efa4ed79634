// SPDX-License-Identifier: MIT
//
// Sources: files in every mode, memory, a class of the user's own, and what happens when a file shrinks below them.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/faulty_os.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/detail/read/sources.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace {

using support::as_string;
using support::faulty_os;
using support::temp_dir;
using support::write_file;
using ztensor::byte_source;
using ztensor::errc;
using ztensor::io_mode;
using ztensor::result;
using ztensor::detail::memory_source;
using ztensor::detail::open_source;

using shared_source = std::shared_ptr<const byte_source>;

result<std::string> text_at(const byte_source& source, std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> buffer(length);
    if (result<void> read = source.read_at(offset, buffer); !read) {
        return std::move(read).error();
    }
    return as_string(buffer);
}

std::vector<std::byte> some_bytes() {
    return {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}};
}

} // namespace

TEST_CASE("a file reads the same in every mode") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    for (const io_mode mode : {io_mode::automatic, io_mode::mapped, io_mode::positional}) {
        CAPTURE(static_cast<int>(mode));
        const shared_source source = open_source(directory / "f", ztensor::read_options().mode(mode)).value();
        CHECK(source->size() == 10);
        CHECK(text_at(*source, 2, 5).value() == "23456");
        CHECK(text_at(*source, 0, 10).value() == "0123456789");
        CHECK(text_at(*source, 10, 0).value().empty());
        CHECK(source->check_unchanged().has_value());
        CHECK(as_string(source->mapped()) == (mode == io_mode::positional ? "" : "0123456789"));
    }
}

TEST_CASE("reads outside a file are out of bounds") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    const shared_source source = open_source(directory / "f", ztensor::read_options()).value();
    for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::size_t>>{
             {10, 1}, {11, 0}, {0, 11}, {9, 2}, {std::numeric_limits<std::uint64_t>::max(), 2}}) {
        CAPTURE(offset, length);
        const result<std::string> read = text_at(*source, offset, length);
        REQUIRE(!read);
        CHECK(read.error().code() == errc::out_of_bounds);
        CHECK(read.error().offset() == offset);
        CHECK(read.error().path() == ztensor::detail::path_text((directory / "f").native()));
    }
}

TEST_CASE("an empty file opens in every mode and has nothing to map") {
    const temp_dir directory;
    write_file(directory / "f", "");
    for (const io_mode mode : {io_mode::automatic, io_mode::mapped, io_mode::positional}) {
        const shared_source source = open_source(directory / "f", ztensor::read_options().mode(mode)).value();
        CHECK(source->size() == 0);
        CHECK(source->mapped().empty());
    }
}

TEST_CASE("what can't be opened says why and names its path") {
    const temp_dir directory;
    const result<shared_source> absent = open_source(directory / "nothing", ztensor::read_options());
    REQUIRE(!absent);
    CHECK(absent.error().code() == errc::file_not_found);
    CHECK(absent.error().path() == ztensor::detail::path_text((directory / "nothing").native()));
    CHECK(open_source(directory.path(), ztensor::read_options()).error().code() == errc::not_regular_file);
#if !defined(_WIN32)
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK(open_source(directory / "fifo", ztensor::read_options()).error().code() == errc::not_regular_file);
#endif
}

TEST_CASE("where the system can't map, automatic reads and mapped refuses") {
    const temp_dir directory;
    write_file(directory / "f", "0123456789");
    for (const std::errc reason :
         {std::errc::no_such_device, std::errc::invalid_argument, std::errc::not_enough_memory}) {
        faulty_os os;
        os.failing_name = "map";
        os.failure = std::make_error_code(reason);
        {
            const shared_source source = open_source(directory / "f", ztensor::read_options(), os).value();
            CHECK(source->mapped().empty());
            CHECK(text_at(*source, 3, 4).value() == "3456");
        }
        const result<shared_source> mapped =
            open_source(directory / "f", ztensor::read_options().mode(io_mode::mapped), os);
        REQUIRE(!mapped);
        CHECK(mapped.error().code() == errc::unmappable);
        CHECK(mapped.error().os_error() == reason);
        CHECK(mapped.error().path() == ztensor::detail::path_text((directory / "f").native()));
        CHECK(os.open_handles == 0);
    }
}

TEST_CASE("positional mode never maps") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    CHECK(open_source(directory / "f", ztensor::read_options().mode(io_mode::positional), os).has_value());
    CHECK(os.count("map") == 0);
}

TEST_CASE("a source gives back its handle and its mapping") {
    const temp_dir directory;
    write_file(directory / "f", "abc");
    faulty_os os;
    {
        const shared_source source =
            open_source(directory / "f", ztensor::read_options().mode(io_mode::mapped), os).value();
        CHECK(os.open_handles == 1);
        CHECK(os.open_mappings == 1);
    }
    CHECK(os.open_handles == 0);
    CHECK(os.open_mappings == 0);
}

TEST_CASE("a file cut below its reader is an error and not the end of the process") {
    const temp_dir directory;
    const std::string content(3 << 16, 'x');
    for (const io_mode mode : {io_mode::mapped, io_mode::positional}) {
        if (mode == io_mode::mapped && !support::cuts_mapped_files) {
            continue;
        }
        write_file(directory / "f", content);
        const shared_source source = open_source(directory / "f", ztensor::read_options().mode(mode)).value();
        std::filesystem::resize_file(directory / "f", 10);
        CHECK(text_at(*source, 0, 10).value() == "xxxxxxxxxx");
        const result<std::string> read = text_at(*source, 0, content.size());
        REQUIRE(!read);
        CHECK(read.error().code() == errc::file_changed);
        CHECK(read.error().offset() == std::uint64_t{10});
        CHECK(read.error().path() == (directory / "f").string());
        const result<void> unchanged = source->check_unchanged();
        REQUIRE(!unchanged);
        CHECK(unchanged.error().code() == errc::file_changed);
        CHECK(unchanged.error().path() == (directory / "f").string());
    }
}

TEST_CASE("a file replaced by rename stays whole for those who opened it before") {
    const temp_dir directory;
    for (const io_mode mode : {io_mode::mapped, io_mode::positional}) {
        write_file(directory / "f", "old content");
        write_file(directory / "g", "new");
        const shared_source source = open_source(directory / "f", ztensor::read_options().mode(mode)).value();
        std::error_code refused;
        std::filesystem::rename(directory / "g", directory / "f", refused);
        CHECK((support::is_windows || !refused)); // which may refuse it as long as the file is open
        CHECK(text_at(*source, 0, 11).value() == "old content");
        CHECK(source->check_unchanged().has_value());
    }
}

TEST_CASE("many threads read one file at once") {
    const temp_dir directory;
    std::string content;
    for (int i = 0; i < 4096; ++i) {
        content += static_cast<char>(i * 7 + i / 256);
    }
    write_file(directory / "f", content);
    const shared_source source =
        open_source(directory / "f", ztensor::read_options().mode(io_mode::positional)).value();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::size_t i = 0; i < 1000; ++i) {
                const std::size_t offset = (i * 31 + thread * 997) % 4000;
                const result<std::string> read = text_at(*source, offset, 96);
                wrong += !read || *read != content.substr(offset, 96) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(wrong == 0);
}

TEST_CASE("borrowed memory is read where it lies") {
    const std::vector<std::byte> bytes = some_bytes();
    const memory_source source{ztensor::bytes_view(bytes)};
    CHECK(source.size() == 4);
    CHECK(source.mapped().data() == bytes.data());
    CHECK(source.mapped().size() == 4);
    CHECK(text_at(source, 1, 3).value() == "bcd");
    CHECK(source.check_unchanged().has_value());
}

TEST_CASE("owned memory lives in the source") {
    std::vector<std::byte> bytes = some_bytes();
    const std::byte* const address = bytes.data();
    const memory_source source(std::move(bytes));
    CHECK(source.mapped().data() == address);
    CHECK(text_at(source, 0, 4).value() == "abcd");
}

TEST_CASE("reads outside memory are out of bounds") {
    const memory_source source(some_bytes());
    for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::size_t>>{
             {4, 1}, {5, 0}, {0, 5}, {3, 2}, {std::numeric_limits<std::uint64_t>::max(), 2}, {1ull << 32, 1}}) {
        CAPTURE(offset, length);
        CHECK(text_at(source, offset, length).error().code() == errc::out_of_bounds);
    }
    CHECK(text_at(source, 4, 0).has_value());
    const memory_source nothing{ztensor::bytes_view()};
    CHECK(nothing.size() == 0);
    CHECK(text_at(nothing, 0, 0).has_value());
}

namespace {

/// As a user might write it: bytes that are computed, not stored.
class counting_source final : public byte_source {
public:
    [[nodiscard]] std::uint64_t size() const noexcept override { return 256; }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        for (std::byte& byte : destination) {
            byte = static_cast<std::byte>(offset++);
        }
        return {};
    }
};

} // namespace

TEST_CASE("a user's source needs a size and a read") {
    static_assert(!std::is_copy_constructible_v<counting_source>);
    const counting_source own;
    const byte_source& source = own;
    CHECK(text_at(source, 'x', 3).value() == "xyz");
    CHECK(source.mapped().empty());
    CHECK(source.check_unchanged().has_value());
}

namespace {

/// As a model in an object store: the root, and shards by their names.
class root_with_shards final : public byte_source {
public:
    explicit root_with_shards(std::string shard_in_place_of = {})
        : root_(of("model.zt")), in_place_of_(std::move(shard_in_place_of)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return root_->size(); }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> destination) const override {
        return root_->read_at(offset, destination);
    }
    result<shared_source> open_shard(std::string_view name, std::string_view digest) const override {
        if (digest.empty()) { // several threads ask, none of which may check
            return ztensor::error(errc::invalid_argument, "no digest was asked for");
        }
        if (name == in_place_of_) {
            return of("model.zt");
        }
        return of("model-" + std::string(name) + ".zt");
    }

private:
    static shared_source of(const std::string& name) {
        return open_source("tests/corpus/v2/sharded/" + name, ztensor::read_options()).value();
    }

    shared_source root_;
    std::string in_place_of_;
};

} // namespace

TEST_CASE("a user's source brings the shards of its root, which are checked like those in files") {
    const ztensor::reader by_path = ztensor::reader::open("tests/corpus/v2/sharded/model.zt").value();
    const auto brought = ztensor::reader::from_source(std::make_shared<root_with_shards>()).value();
    std::size_t in_shards = 0;
    for (const ztensor::object_view object : by_path) {
        for (const ztensor::component_view part : object) {
            CHECK(brought[object.name()][part.role()].read<std::byte>().value() == part.read<std::byte>().value());
            in_shards += part.shard().empty() ? 0 : 1;
        }
    }
    CHECK(in_shards != 0);
    const auto wrong = ztensor::reader::from_source(std::make_shared<root_with_shards>("b-2"));
    CHECK(wrong.error().code() == errc::shard_mismatch);
    const auto none = ztensor::read_options().shards(ztensor::shard_lookup::none);
    CHECK(ztensor::reader::from_source(std::make_shared<root_with_shards>("b-2"), none).has_value());
}
