// SPDX-License-Identifier: MIT
#include "index/sparse_content.hpp"

#include "support/catch.hpp"
#include "support/openings.hpp"

#include <cstddef>

namespace sparse {

namespace cbor = support::cbor;
using support::sample;
using ztensor::version;

namespace {

outcome use_file(const ztensor::result<ztensor::reader>& file, const use& call) {
    if (!file) {
        return {false, file.error().code(), file.error().object()};
    }
    const ztensor::result<void> done = call(*file->begin());
    return done ? outcome{true, {}, "w"} : outcome{true, done.error().code(), done.error().object()};
}

template <class Content>
void check_numbers_of(const std::vector<broken<Content>>& rows, const std::vector<use>& uses) {
    const support::temp_dir directory;
    for (const broken<Content>& each : rows) {
        for (const holding& how : holdings) {
            CAPTURE(each.rule, how.what);
            const bytes file = file_of(how, each.content());
            for (std::size_t i = 0; i < uses.size(); ++i) {
                CAPTURE(i);
                check_outcome(file, uses[i], {true, each.refusal, {}}, directory);
            }
        }
    }
}

} // namespace

bytes floats(const std::vector<float>& values) {
    return support::between_file_and_host(support::memory_of(values), sizeof(float));
}

bytes u64s(const integers& values) {
    return support::little_endian(values, 8);
}

const std::vector<holding> holdings = {
    {"1.0", ztensor::version::v1_0, layout::parts, false},
    {"1.0, zstd", ztensor::version::v1_0, layout::parts, true},
    {"1.1", ztensor::version::v1_1, layout::parts, false},
    {"1.1, zstd", ztensor::version::v1_1, layout::parts, true},
    {"1.2", ztensor::version::v1_2, layout::parts, false},
    {"1.2, zstd", ztensor::version::v1_2, layout::parts, true},
    {"0.1", ztensor::version::v0_1, layout::one_blob, false},
    {"0.1, zstd", ztensor::version::v0_1, layout::one_blob, true},
    {"0.1 as specified", ztensor::version::v0_1, layout::one_blob_as_specified, false},
    {"0.1 as specified, zstd", ztensor::version::v0_1, layout::one_blob_as_specified, true},
    {"0.1 with arrays", ztensor::version::v0_1, layout::inline_arrays, false},
    {"0.1 with arrays, zstd", ztensor::version::v0_1, layout::inline_arrays, true},
};

bytes file_of_parts(const holding& how, std::string_view format, const integers& dimensions,
                    const std::vector<support::plain_part>& parts) {
    return sample(how.from).stored_parts(format, dimensions, parts, how.is_zstd).file();
}

bytes file_of_blob(const holding& how, const char* word, const integers& dimensions, const bytes& content,
                   const std::vector<std::pair<std::string, integers>>& arrays) {
    sample file(version::v0_1);
    file.shape(dimensions).blob(content);
    if (how.is_zstd) {
        file.zstd_blob(support::zstd::frame_of(content), 0);
    }
    if (how.how == layout::one_blob) {
        return file.object("layout", cbor::text("sparse" + bytes(word))).file();
    }
    file.object("layout", cbor::text("sparse")).object("sparse_format", cbor::text(word));
    for (const auto& [key, values] : arrays) {
        file.object(key, cbor::numbers(values));
    }
    return file.file();
}

bytes file_of(const holding& how, const csr_content& content) {
    const bytes indptr = u64s(content.indptr);
    const bytes indices = u64s(content.indices);
    const bytes values = floats(content.values);
    switch (how.how) {
    case layout::parts:
        return file_of_parts(how, "sparse_csr", content.dimensions,
                             {{"indices", "u64", indices}, {"indptr", "u64", indptr}, {"values", "f32", values}});
    case layout::inline_arrays:
        return file_of_blob(how, "csr", content.dimensions, values,
                            {{"indptr", content.indptr}, {"indices", content.indices}});
    default:
        return file_of_blob(how, "csr", content.dimensions, indptr + indices + values, {});
    }
}

bytes file_of(const holding& how, const coo_content& content) {
    const bytes values = floats(content.values);
    if (how.how == layout::parts) {
        return file_of_parts(how, "sparse_coo", content.dimensions,
                             {{"coords", "u64", u64s(content.coords)}, {"values", "f32", values}});
    }
    if (how.how == layout::inline_arrays) {
        return file_of_blob(how, "coo", content.dimensions, values, {{"coords", content.coords}});
    }
    bytes entries;
    for (std::size_t entry = 0; entry < content.values.size(); ++entry) {
        for (std::size_t axis = 0; axis < content.dimensions.size(); ++axis) {
            entries += support::little_endian(content.coords.at(axis * content.values.size() + entry), 8);
        }
        entries += floats({content.values[entry]});
    }
    return file_of_blob(how, "coo", content.dimensions, entries, {});
}

std::ostream& operator<<(std::ostream& out, const outcome& from) {
    return out << (from.opened ? "opened, " : "not opened, ") << (from.refusal ? name(*from.refusal) : "used");
}

void check_outcome(const bytes& file, const use& call, const outcome& expected, const support::temp_dir& directory) {
    for (const support::opening& opened : open_every_way(file, directory)) {
        CAPTURE(opened.way);
        const outcome found = use_file(opened.file, call);
        CHECK(found == expected);
        CHECK(found.object == "w");
    }
}

void check_numbers(const std::vector<broken<csr_content>>& rows, const std::vector<use>& uses) {
    check_numbers_of(rows, uses);
}

void check_numbers(const std::vector<broken<coo_content>>& rows, const std::vector<use>& uses) {
    check_numbers_of(rows, uses);
}

} // namespace sparse
