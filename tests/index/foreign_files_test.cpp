// SPDX-License-Identifier: MIT
//
// Files of other kinds under the name of a .zt file: the error says what they are.
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <string>
#include <string_view>

namespace {

using support::bytes;
using support::little_endian;
using support::opening;
using support::temp_dir;
using ztensor::errc;
using ztensor::error;
using ztensor::reader;

struct foreign_file {
    std::string_view kind; ///< as the message must say it
    bytes content;
    errc code = errc::foreign_file;
};

const bytes safetensors_header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

const foreign_file foreign_files[] = {
    {"Git LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:"
                "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"},
    {"HTML", "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n"},
    {"HTML", "<html>\r\n<body>Access denied</body>\r\n</html>"},
    {"HTML", "\n\n  <HTML><BODY>Moved</BODY></HTML>"},
    {"HTML", "\xef\xbb\xbf<!doctype html><p>Sign in"},
    {"XML", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code></Error>"},
    {"JSON", "{\"error\": \"Repository not found\"}"},
    {"JSON", "[\n  {\"message\": \"rate limit exceeded\"}\n]"},
    {"ZIP", "PK\x03\x04" + bytes(26, '\0') + "archive/data.pkl"},
    {"ZIP", "PK\x05\x06" + bytes(18, '\0')},
    {"pickle", "\x80\x02}q\x01(X\x06\0\0\0weightq\x02K\x01u."},
    {"pickle", "\x80\x03}q\x01."},
    {"pickle", "\x80\x04\x95\x0a" + bytes(7, '\0') + "}."},
    {"pickle", "\x80\x05\x95\x0a" + bytes(7, '\0') + "}."},
    {"safetensors", little_endian(safetensors_header.size(), 8) + safetensors_header + bytes(8, '\0')},
    {"safetensors", little_endian(2, 8) + "{}"},
    {"safetensors", little_endian(0x3c, 8) + "{" + bytes(0x3b, ' ')}, // which starts with a '<'
    {"GGUF", "GGUF" + little_endian(3, 4) + little_endian(1, 8) + little_endian(0, 8)},
    {"npy", "\x93NUMPY\x01" + bytes(1, '\0') + "v" + bytes(1, '\0') +
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"},
    {"HDF5", "\x89HDF\r\n\x1a\n" + bytes(88, '\0')},
    {"gzip", "\x1f\x8b\x08" + bytes(7, '\0') + "\x03" + bytes(9, '\0')},
    {"empty", "", errc::file_too_small},
};

bool says(const error& why, std::string_view words) {
    return why.what().find(words) != std::string::npos;
}

} // namespace

TEST_CASE("a file of another kind is called by its name") {
    const temp_dir directory;
    for (const foreign_file& each : foreign_files) {
        CAPTURE(each.kind);
        for (const opening& opened : open_every_way(each.content, directory)) {
            CAPTURE(opened.way);
            REQUIRE_FALSE(opened.file.has_value());
            const error& why = opened.file.error();
            CAPTURE(why.what());
            CHECK(why.code() == each.code);
            CHECK(says(why, each.kind));
            CHECK(says(why, "file.zt: ") == opened.is_path);
            CHECK(why.kind() != ztensor::error_kind::io);
        }
    }
}

TEST_CASE("a foreign file is named even where nothing but its signature is left") {
    for (const bytes& start :
         {bytes("GGUF"), bytes("PK\x03\x04"), bytes("\x80\x04"), bytes("\x1f\x8b"), bytes("<"), bytes("{")}) {
        CAPTURE(start);
        CHECK(reader::from_bytes(support::to_vector(start)).error().code() == errc::foreign_file);
    }
}

TEST_CASE("a directory is not a file") {
    const temp_dir directory;
    const error why = reader::open(directory.path()).error();
    CHECK(why.code() == errc::not_regular_file);
    CHECK(!why.path().empty());
}

TEST_CASE("a file of no known kind is not given a name") {
    const std::string_view contents[] = {"some text that is no file of any kind", "PK, but not a ZIP archive at all",
                                         "\x7f"
                                         "ELF\x02\x01\x01 and more",
                                         "version 1 of something"};
    for (const std::string_view content : contents) {
        CAPTURE(content);
        const error why = reader::from_bytes(support::to_vector(content)).error();
        CHECK(why.code() == errc::bad_magic);
        CHECK(says(why, "neither a .zt file nor one of another format that is known: it starts with "));
    }
}
