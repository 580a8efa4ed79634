// SPDX-License-Identifier: MIT
//
// Sparse tensors of bools: written from bools, read as bools, of which no byte but 0 and 1 is ever made.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/writing.hpp"

#include <ztensor/error.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/span.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using ztensor::errc;
using ztensor::format_version;

const std::vector<std::uint64_t> bool_columns = {1, 0, 2};
const std::vector<std::uint64_t> bool_starts = {0, 1, 3};
const std::vector<std::uint64_t> bool_coords = {0, 1, 1, 1, 0, 2};
const std::vector<bool> dense_bools = {false, true, false, false, false, true};

/// "csr" and "coo" hold {_, true, _, false, _, true} of shape {2, 3}.
support::byte_vector file_of_bools(format_version version, bool is_zstd) {
    return support::written(ztensor::write_options().version(version).any_order(), [&](ztensor::writer& out) {
        const ztensor::store how = support::stored(is_zstd);
        out.add_csr("csr", {2, 3}, std::vector<bool>{true, false, true}, bool_columns, bool_starts, how).value();
        const bool values[] = {true, false, true};
        out.add_coo("coo", {2, 3}, values, bool_coords, how).value();
    });
}

template <class View>
void check_bools(const View& view) {
    static_assert(std::is_same_v<decltype(view.values()), ztensor::span<const bool>>);
    CHECK(std::vector<bool>(view.values().begin(), view.values().end()) == std::vector<bool>{true, false, true});
    CHECK_FALSE(view.is_borrowed());
    CHECK(view.to_dense().value() == dense_bools);
}

} // namespace

TEST_CASE("sparse bools are read as bools") {
    const format_version version =
        GENERATE(format_version::v0_1, format_version::v1_1, format_version::v1_2, format_version::v2);
    const bool is_zstd = GENERATE(false, true);
    const support::byte_vector bytes = file_of_bools(version, is_zstd);
    const auto model = ztensor::reader::from_bytes(ztensor::bytes_view(bytes)).value();
    const auto csr = model.find("csr").value();
    const auto coo = model.find("coo").value();

    const auto matrix = ztensor::csr_view<bool>::from(csr).value();
    check_bools(matrix);
    check_bools(ztensor::csr_view<bool, std::int32_t>::read(csr).value());
    check_bools(ztensor::coo_view<bool>::from(coo).value());
    check_bools(ztensor::coo_view<bool, std::int16_t>::read(coo).value());
    check_bools(matrix.to_coo().value());
    check_bools(ztensor::coo_view<bool>::from(coo).value().to_csr().value());

    const auto second = ztensor::csr_view<bool>::from_rows(csr, 1, 2).value();
    CHECK(second.to_dense().value() == std::vector<bool>{false, false, true});
    CHECK(second.row(0).values.size() == 2);
    CHECK_FALSE(second.row(0).values[0]);
    std::size_t count = 0;
    matrix.for_each([&](const ztensor::csr_entry<bool>& entry) { count += entry.value ? 1 : 0; });
    CHECK(count == 2);
    const auto stored = ztensor::csr_view<std::uint8_t>::from(csr).value(); // their bytes
    CHECK(stored.values()[2] == 1);
}

TEST_CASE("bools of the caller's are a sparse view, and several at one place are true if one is") {
    const bool values[] = {true, false, false};
    const std::vector<std::uint64_t> columns = {1, 1, 0};
    const std::vector<std::uint64_t> starts = {0, 3};
    const auto matrix =
        ztensor::csr_view<bool>::from_parts({1, 2}, ztensor::span<const bool>(values), columns, starts).value();
    CHECK(matrix.to_dense().value() == std::vector<bool>{false, true});
    CHECK(support::refusal(matrix.to_dense(1)) == errc::limit_exceeded);
}

TEST_CASE("a sparse bool that is neither 0 nor 1 is refused, or true in 0.1") {
    const format_version version = GENERATE(format_version::v0_1, format_version::v1_2);
    support::byte_vector bytes = file_of_bools(version, false);
    std::uint64_t value_at = 0;
    {
        const auto model = ztensor::reader::from_bytes(ztensor::bytes_view(bytes)).value();
        const auto csr = model.find("csr").value();
        const bool is_one_blob = !csr.component("values");
        const auto blob = is_one_blob ? csr.component("data").value() : csr.component("values").value();
        value_at = blob.offset() + (is_one_blob ? 6 * sizeof(std::uint64_t) : 0); // behind pointers and columns
    }
    bytes[static_cast<std::size_t>(value_at)] = std::byte{7};
    const auto damaged = ztensor::reader::from_bytes(ztensor::bytes_view(bytes)).value();
    const auto csr = damaged.find("csr").value();
    const auto from = ztensor::csr_view<bool>::from(csr);
    const auto rows = ztensor::csr_view<bool>::from_rows(csr, 0, 1);
    if (version == format_version::v0_1) {
        check_bools(from.value());
        CHECK(rows->values()[0]);
        return;
    }
    CHECK(support::refusal(from) == errc::bad_bool);
    CHECK(from.error().component() == "values");
    CHECK(from.error().object() == "csr");
    CHECK(support::refusal(ztensor::csr_view<bool>::read(csr)) == errc::bad_bool);
    CHECK(support::refusal(rows) == errc::bad_bool);
}
