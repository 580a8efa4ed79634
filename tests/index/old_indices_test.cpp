// SPDX-License-Identifier: MIT
//
// Indices of 0.1 and 1.0 that are no index: what stands where a tensor should, and behind the end.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/error.hpp>
#include <ztensor/reader.hpp>

#include <string>
#include <string_view>

namespace {

support::refusal refusal_of(const support::bytes& file) {
    return support::refusal(support::open_bytes(file));
}

} // namespace

TEST_CASE("a tensor of 0.1 that is no map is refused, wherever it stands in the index") {
    namespace cbor = support::cbor;
    const support::sample good(ztensor::version::v0_1);
    for (const support::bytes& wrong : {cbor::number(1), cbor::text("w"), cbor::array({}), cbor::null}) {
        CHECK(refusal_of(good.file_of(cbor::array({wrong}))) == ztensor::errc::schema_type);
        CHECK(refusal_of(good.file_of(cbor::array({good.encoded_object(), wrong}))) == ztensor::errc::schema_type);
        CHECK(refusal_of(good.file_of(cbor::indefinite_array({wrong}))) == ztensor::errc::schema_type);
    }
}

TEST_CASE("a field of 0.1 that stands twice is refused, known or not") {
    namespace cbor = support::cbor;
    for (const std::string_view key : {"dtype", "offset", "note"}) {
        CAPTURE(key);
        support::sample file(ztensor::version::v0_1);
        file.object_map().set("note", cbor::number(1));
        file.object_map().add(cbor::text(key), cbor::number(1));
        CHECK(refusal_of(file.file()) == ztensor::errc::duplicate_key);
    }
}

TEST_CASE("a byte order of 0.1 is little or big, where there is one") {
    namespace cbor = support::cbor;
    for (const std::string_view order : {"middle", "", "Little", "big "}) {
        CAPTURE(order);
        support::sample file(ztensor::version::v0_1);
        file.object_map().set("data_endianness", cbor::text(order));
        CHECK(refusal_of(file.file()) == ztensor::errc::schema_type);
        file.dtype("u8").shape({8}); // of which no byte stands before another
        CHECK(support::open_bytes(file.file()));
    }
}

TEST_CASE("what follows the index of an old file is no part of it") {
    namespace cbor = support::cbor;
    const support::sample v0_1(ztensor::version::v0_1);
    CHECK(refusal_of(v0_1.file_of(v0_1.index() + cbor::number(0))) == ztensor::errc::cbor_trailing);
    const support::sample v1_0(ztensor::version::v1_0); // of which an index that is not one can't be told from a cut
    CHECK(refusal_of(v1_0.file_of(v1_0.index() + cbor::number(0))) == ztensor::errc::truncated);
}
