// SPDX-License-Identifier: MIT
//
// Writes a file of version 2 as a script says, for the comparison with the reference: write_v2 FILE SCRIPT. A script is
// lines of words, text and bytes in hexadecimal digits; check_v2_written.py makes them. Or tells the content digest of
// one, a SHA-256: write_v2 --id FILE.
#include <ztensor/edit.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using ztensor::result;

using words = std::vector<std::string>;

std::vector<std::byte> unhex(const std::string& digits) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

std::string text(const std::string& digits) {
    std::string out;
    for (const std::byte byte : unhex(digits)) {
        out += static_cast<char>(byte);
    }
    return out;
}

/// "2,3"; "-" for a scalar.
ztensor::shape shape_of(const std::string& word) {
    ztensor::shape dimensions;
    std::istringstream rest(word == "-" ? "" : word);
    for (std::string each; std::getline(rest, each, ',');) {
        dimensions.push_back(std::stoull(each));
    }
    return dimensions;
}

/// "raw", "zstd" or "sha256"; the type is "-" for none and borrowed.
ztensor::store store_of(const std::string& how, const std::string& type) {
    ztensor::store out;
    if (how == "zstd") {
        out.zstd(3);
    } else if (how == "sha256") {
        out.digest(ztensor::digest::sha256);
    }
    return type == "-" ? out : out.type(type);
}

template <class T>
std::vector<T> elements_of(const std::string& digits) {
    const std::vector<std::byte> bytes = unhex(digits);
    std::vector<T> out;
    for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        std::uint64_t bits = 0;
        for (std::size_t j = sizeof(T); j-- > 0;) {
            bits = bits << 8 | std::to_integer<std::uint64_t>(bytes[i + j]);
        }
        out.push_back(static_cast<T>(bits));
    }
    return out;
}

ztensor::write_options options_of(const words& line) {
    ztensor::write_options options;
    options.version(ztensor::format_version::v2);
    for (std::size_t i = 2; i < line.size(); ++i) {
        if (line[i] == "any_order") {
            options.any_order();
        } else if (line[i] == "in_place") {
            options.publish(ztensor::publish_mode::in_place);
        } else if (line[i] == "align") {
            options.alignment_bytes(std::stoull(line[++i]));
        } else if (line[i] == "shards") {
            options.shard_bytes(std::stoull(line[++i]));
        } else if (line[i] == "sha256_shards") {
            options.shard_bytes(std::stoull(line[++i]), ztensor::digest::sha256);
        }
    }
    return options;
}

/// stream NAME SHAPE DTYPE TYPE HOW BYTES
result<void> write_stream(ztensor::writer& out, const words& line) {
    result<ztensor::tensor_stream> stream =
        out.stream(text(line[1]), shape_of(line[2]), *ztensor::find_dtype(line[3]), store_of(line[5], line[4]));
    if (!stream) {
        return stream.error();
    }
    const std::vector<std::byte> bytes = unhex(line[6]);
    constexpr std::size_t piece_bytes = 7;
    for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
        const std::size_t size = std::min(piece_bytes, bytes.size() - at);
        if (result<void> done = stream->append_bytes({bytes.data() + at, size}); !done) {
            return done;
        }
    }
    return stream->finish();
}

/// An object being described: object NAME LAYOUT SHAPE, then attr and part lines, then end.
struct description {
    std::string name;
    ztensor::object_draft draft;
    ztensor::attributes attributes;
    bool has_attributes = false;
};

class script {
public:
    explicit script(ztensor::writer& out) : out_(out) {}

    result<void> run(const words& line) {
        const std::string& verb = line[0];
        if (verb == "file_attr") {
            return file_attributes_.set_cbor(text(line[1]), unhex(line[2]));
        }
        if (verb == "file_attributes") {
            return out_.attributes(file_attributes_);
        }
        if (verb == "dense") {
            return out_.add_bytes(text(line[1]), shape_of(line[2]), *ztensor::find_dtype(line[3]), unhex(line[6]),
                                  store_of(line[5], line[4]));
        }
        if (verb == "stream") {
            return write_stream(out_, line);
        }
        if (verb == "csr") {
            return out_.add_csr(text(line[1]), shape_of(line[2]), elements_of<std::uint32_t>(line[3]),
                                elements_of<std::uint64_t>(line[4]), elements_of<std::uint64_t>(line[5]));
        }
        if (verb == "coo") {
            return out_.add_coo(text(line[1]), shape_of(line[2]), elements_of<std::uint32_t>(line[3]),
                                elements_of<std::uint32_t>(line[4]));
        }
        return describe(line);
    }

private:
    result<void> describe(const words& line) {
        const std::string& verb = line[0];
        if (verb == "object") {
            open_.emplace(description{text(line[1]), ztensor::object_draft(text(line[2]), shape_of(line[3])), {}});
            memory_.clear();
        } else if (verb == "no_attributes") { // an empty set of them
            open_->has_attributes = true;
        } else if (verb == "attr") {
            open_->has_attributes = true;
            return open_->attributes.set_cbor(text(line[1]), unhex(line[2]));
        } else if (verb == "part") {
            memory_[line[1]] = unhex(line[5]);
            open_->draft.component_bytes(text(line[1]), *ztensor::find_dtype(line[2]), memory_[line[1]],
                                         store_of(line[4], line[3]));
        } else if (verb == "end") {
            if (open_->has_attributes) {
                open_->draft.attributes(open_->attributes);
            }
            return out_.add_object(open_->name, open_->draft);
        }
        return {};
    }

    ztensor::writer& out_;
    ztensor::attributes file_attributes_;
    std::optional<description> open_;
    std::map<std::string, std::vector<std::byte>> memory_;
};

/// create OPTION… or append OPTION… first.
result<void> run(const std::string& path, const std::string& script_path) {
    std::ifstream lines(script_path);
    std::optional<ztensor::writer> out;
    std::optional<script> runs;
    for (std::string text_line; std::getline(lines, text_line);) {
        words line;
        std::istringstream rest(text_line);
        for (std::string word; rest >> word;) {
            line.push_back(word == "_" ? "" : word);
        }
        if (!out) {
            line.insert(line.begin(), "");
            const ztensor::write_options options = options_of(line);
            result<ztensor::writer> made =
                line[1] == "append" ? ztensor::writer::append(path, options) : ztensor::writer::create(path, options);
            if (!made) {
                return made.error();
            }
            out.emplace(*std::move(made));
            runs.emplace(*out);
        } else if (result<void> done = runs->run(line); !done) {
            return done;
        }
    }
    return out->finish();
}

result<void> tell_id(const std::string& path) {
    const result<ztensor::reader> file = ztensor::reader::open(path);
    const result<std::string> id = file ? ztensor::content_digest(*file, ztensor::digest::sha256) : file.error();
    if (!id) {
        return id.error();
    }
    std::puts(id->c_str());
    return {};
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: write_v2 FILE SCRIPT, or write_v2 --id FILE\n", stderr);
        return 2;
    }
    const result<void> done = std::string(argv[1]) == "--id" ? tell_id(argv[2]) : run(argv[1], argv[2]);
    if (!done) {
        std::fprintf(stderr, "%s: %s\n", std::string(ztensor::name(done.error().code())).c_str(),
                     done.error().what().c_str());
        return 1;
    }
    return 0;
}
