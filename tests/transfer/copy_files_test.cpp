// SPDX-License-Identifier: MIT
//
// Copies from file to file, whose blobs the system moves by itself where it can. The new file is the same in any case.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/faulty_os.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/detail/write/file_writer.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using support::byte_vector;
using support::faulty_os;
using support::outcome;
using support::read_file;
using support::temp_dir;
using ztensor::reader;
using ztensor::result;
using ztensor::write_options;
using ztensor::writer;

constexpr std::size_t copied_mebibyte = std::size_t{1} << 20;

/// Blobs of every kind of size: with ends within a MiB of the file, a whole number of them, small and empty ones.
void write_source(const std::filesystem::path& path) {
    writer out = writer::create(path, write_options().sync(false)).value();
    int number = 0;
    for (const std::size_t size : {std::size_t{3}, 5 * copied_mebibyte + 12345, std::size_t{0}, 2 * copied_mebibyte,
                                   copied_mebibyte - 1, std::size_t{100}, 4 * copied_mebibyte}) {
        const byte_vector content = support::noise(size, static_cast<std::uint32_t>(number + 1));
        out.add_bytes("t" + std::to_string(number++), {size}, ztensor::dtype::u8, content,
                      ztensor::store().digest(ztensor::digest::crc32c))
            .value();
    }
    out.finish().value();
}

result<void> copy_into(const reader& from, const std::filesystem::path& target, faulty_os& os,
                       const write_options& options = write_options().sync(false)) {
    result<std::unique_ptr<ztensor::byte_sink>> sink = ztensor::detail::create_sink(target, options, os);
    if (!sink) {
        return sink.error();
    }
    writer out = writer::to_sink(*std::move(sink), options).value();
    const result<void> copied = ztensor::copy(from, out);
    return copied ? out.finish() : copied;
}

} // namespace

TEST_CASE(
    "from file to file the system moves the large blobs, and where it does not, reading and writing do the same") {
    const temp_dir directory;
    write_source(directory / "source");
    const std::string source = read_file(directory / "source");
    const reader from = reader::open(directory / "source").value();

    faulty_os plain;
    REQUIRE(copy_into(from, directory / "target", plain));
    CHECK((read_file(directory / "target") == source)); // which our writer wrote in the same order
    if (plain.bytes_copied != 0) {                      // where the system has such a call
        CHECK(plain.bytes_copied >= 8 * copied_mebibyte);
        CHECK(plain.bytes_copied % copied_mebibyte == 0);
    }

    faulty_os refuses;
    refuses.failing_name = "copy";
    REQUIRE(copy_into(from, directory / "target", refuses));
    CHECK(refuses.count("copy") == 1);
    CHECK((read_file(directory / "target") == source));

    faulty_os interrupted;
    interrupted.failing_name = "copy";
    interrupted.failing_times = 3;
    interrupted.failure = std::make_error_code(std::errc::interrupted);
    REQUIRE(copy_into(from, directory / "target", interrupted));
    CHECK(interrupted.bytes_copied == plain.bytes_copied);
    CHECK((read_file(directory / "target") == source));

    for (const std::size_t most_moved : {std::size_t{1000003}, std::size_t{4096}}) {
        CAPTURE(most_moved);
        faulty_os haltingly;
        haltingly.most_moved = most_moved;
        REQUIRE(copy_into(from, directory / "target", haltingly));
        CHECK(haltingly.bytes_copied == plain.bytes_copied);
        CHECK((read_file(directory / "target") == source));
    }

    if (plain.bytes_copied != 0) { // it breaks off in the middle of a blob, and of a MiB
        faulty_os haltingly;
        haltingly.most_moved = 4096;
        REQUIRE(copy_into(from, directory / "target", haltingly));
        const auto first = std::find(haltingly.calls.begin(), haltingly.calls.end(), "copy");
        faulty_os breaks_off;
        breaks_off.most_moved = 4096;
        breaks_off.first_failing_call = static_cast<std::size_t>(first - haltingly.calls.begin()) + 5;
        REQUIRE(copy_into(from, directory / "target", breaks_off));
        CHECK(breaks_off.calls.at(breaks_off.first_failing_call) == "copy");
        CHECK(breaks_off.bytes_copied == 5 * 4096);
        CHECK((read_file(directory / "target") == source));
    }

    faulty_os past_the_cache;
    REQUIRE(copy_into(from, directory / "target", past_the_cache, write_options().direct(true)));
    CHECK(past_the_cache.bytes_copied == 0);
    CHECK((read_file(directory / "target") == source));
}

TEST_CASE("a disk that fills up while the system copies leaves no new file") {
    const temp_dir directory;
    write_source(directory / "source");
    const reader from = reader::open(directory / "source").value();
    faulty_os os;
    os.room_bytes = 3 * copied_mebibyte;
    const result<void> done = copy_into(from, directory / "target", os);
    REQUIRE(!done);
    CHECK(outcome(done) == "io_error");
    CHECK(done.error().os_error() == std::errc::no_space_on_device);
    CHECK(directory.names() == std::vector<std::string>{"source"});
    CHECK(os.open_handles == 0);
}

TEST_CASE("a file that shrinks while it is copied is an error, mapped or not") {
    for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
        const temp_dir directory;
        write_source(directory / "source");
        const reader from = reader::open(directory / "source", ztensor::read_options().mode(mode)).value();
        std::error_code failure;
        std::filesystem::resize_file(directory / "source", 3 * copied_mebibyte + 5, failure);
        if (failure) {
            return; // Windows shortens no file that is mapped
        }
        faulty_os os;
        const result<void> done = copy_into(from, directory / "target", os);
        CHECK(outcome(done) == "file_changed");
        CHECK(directory.names() == std::vector<std::string>{"source"});
    }
}

TEST_CASE("memory while copying does not grow with the blobs") {
    if (!support::counts_memory) {
        return;
    }
    const temp_dir directory;
    write_source(directory / "source");
    const reader from = reader::open(directory / "source").value();
    for (const char* const refused : {"", "copy"}) {
        CAPTURE(refused);
        faulty_os os;
        os.failing_name = refused;
        const support::memory_use use =
            support::measure_memory([&] { return copy_into(from, directory / "target", os); });
        CHECK(use.most < 2 * copied_mebibyte + 100000); // a buffer for reading, and one for writing
    }
}
