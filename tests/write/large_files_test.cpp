// SPDX-License-Identifier: MIT
//
// Files whose places don't fit into 31 or 32 bits: read in every mode, and gone on with.
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace large_files {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

/// A file with "w" of two numbers at `place`, and nothing but a hole before it. False where the system has no such
/// files.
bool write_file_with_hole(const std::filesystem::path& path, std::uint64_t place) {
    support::sample sample;
    sample.place(place, 8);
    const support::bytes small = sample.file(); // whose blob lies elsewhere, with the end of a large one
    const support::bytes end = sample.index() + support::little_endian(sample.index().size(), 8);
    std::ofstream out(path, std::ios::binary);
    out.write(small.data(), 8);
    out.seekp(static_cast<std::streamoff>(place));
    const support::bytes numbers("\0\0\x80\x3f\0\0\0\x40", 8);
    out << numbers << end << support::magic_1;
    return out.flush().good();
}

} // namespace
} // namespace large_files

TEST_CASE(
    "a tensor beyond 2 GiB and beyond 4 GiB is read in every mode, and its file appended to and edited in place") {
    using namespace large_files;
    for (const std::uint64_t place : {2 * gibibyte - 64, 2 * gibibyte, 3 * gibibyte, 4 * gibibyte, 5 * gibibyte + 64}) {
        CAPTURE(place);
        const support::temp_dir directory;
        if (!write_file_with_hole(directory / "f.zt", place)) {
            WARN("skipped: the file system has no large sparse files");
            return;
        }
        const auto in_place = ztensor::write_options().publish(ztensor::publish_mode::in_place);
        {
            ztensor::writer out = ztensor::writer::append(directory / "f.zt", in_place).value();
            const std::vector<float> added(70000, 3);
            out.add("v", {added.size()}, added).value();
            out.finish().value();
        }
        {
            ztensor::editor out = ztensor::edit(directory / "f.zt", in_place).value();
            const std::vector<float> replaced = {5, 6};
            out.replace("w", {2}, replaced).value();
            out.finish().value();
        }
        CHECK(directory.names() == std::vector<std::string>{"f.zt"});
        for (const ztensor::io_mode mode :
             {ztensor::io_mode::automatic, ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
            const auto file = ztensor::reader::open(directory / "f.zt", ztensor::read_options().mode(mode));
            if (mode == ztensor::io_mode::mapped && sizeof(void*) == 4) {
                CHECK((file || support::refusal(file) == ztensor::errc::unmappable));
                continue;
            }
            REQUIRE(support::outcome(file) == "ok");
            CHECK(file->file_bytes() > place);
            CHECK(file->find("v")->data()->offset() > place);
            CHECK(file->find("w")->data()->offset() > file->find("v")->data()->offset()); // behind, as all that is new
            CHECK(file->read<float>("w").value() == std::vector<float>{5, 6});
            CHECK(file->read<float>("v").value() == std::vector<float>(70000, 3));
            if (file->is_mapped() && support::host_is_little_endian()) {
                CHECK(file->view<float>("w").value()[1] == 6);
            }
        }
    }
}
