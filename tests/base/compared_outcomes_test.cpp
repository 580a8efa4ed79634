// SPDX-License-Identifier: MIT
//
// Outcomes are values: they are compared, changed in place and taken out of what is about to die.
#include "support/catch.hpp"

#include <ztensor/error.hpp>
#include <ztensor/result.hpp>

#include <utility>

TEST_CASE("errors are equal that have the same code and say the same") {
    using ztensor::errc;
    using ztensor::error;
    const error one(errc::bad_magic, "not a .zt file");
    CHECK(one == error(errc::bad_magic, "not a .zt file"));
    CHECK(one != error(errc::bad_magic, "no .zt file"));
    CHECK(one != error(errc::foreign_file, "not a .zt file"));
    CHECK(one != error(one).in_object("w"));
    CHECK(error(one).in_object("w") == error(errc::bad_magic, "not a .zt file").in_object("w"));
}

TEST_CASE("results without a value are equal if both are success or both the same error") {
    using outcome = ztensor::result<void>;
    const outcome good;
    const outcome bad = ztensor::error(ztensor::errc::io_error, "no disk");
    CHECK(good == outcome());
    CHECK(good != bad);
    CHECK(bad != good);
    CHECK(bad == outcome(ztensor::error(ztensor::errc::io_error, "no disk")));
    CHECK(bad != outcome(ztensor::error(ztensor::errc::io_error, "no file")));

    *good; // as of any other result, with nothing to see
    const ztensor::error other(ztensor::errc::busy, "somebody is there");
    CHECK(good.error_or(other).code() == ztensor::errc::busy);
    CHECK(bad.error_or(other).code() == ztensor::errc::io_error);
    CHECK(std::move(bad).error().code() == ztensor::errc::io_error);
}

TEST_CASE("the value of a result can be changed where it is") {
    ztensor::result<int> counted = 1;
    counted.value() += 1;
    CHECK(counted == 2);
    *counted += 1;
    CHECK(std::as_const(counted).value() == 3);
}
