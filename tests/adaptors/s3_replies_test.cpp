// SPDX-License-Identifier: MIT
//
// What S3 answers in XML, and how an upload is cut into parts.
#include "support/catch.hpp"

#include <ztensor/detail/http/s3_replies.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using ztensor::detail::error_code_of;
using ztensor::detail::parse_s3_reply;
using ztensor::detail::s3_part_bytes;
using ztensor::detail::s3_parts_list;

TEST_CASE("Answers of S3 give their few values") {
    const auto begun =
        parse_s3_reply("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<InitiateMultipartUploadResult "
                       "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n  <Bucket>b</Bucket><Key>a &#x4; b</Key>\n"
                       "<UploadId>VXBsb2Fk.a+b/c=&amp;</UploadId></InitiateMultipartUploadResult>\n");
    REQUIRE(begun);
    CHECK(begun->root == "InitiateMultipartUploadResult");
    CHECK(begun->upload_id == "VXBsb2Fk.a+b/c=&");
    CHECK_FALSE(begun->is_error());
    const auto failed = parse_s3_reply(
        "\r\n\n  <Error><Code>NoSuchKey</Code><Message>&lt;&#233;&gt;</Message><Region>eu-west-1</Region>"
        "<Details a='>'><Code>Other</Code><ETag/></Details><HostId/></Error>");
    REQUIRE(failed);
    CHECK(failed->is_error());
    CHECK(failed->code == "NoSuchKey");
    CHECK(failed->region == "eu-west-1");
    CHECK(parse_s3_reply("<A><ETag>&quot;x&#34;</ETag></A>")->tag == "\"x\"");
    CHECK(parse_s3_reply("<A/>")->root == "A");
    CHECK(error_code_of("<Error><Code>SlowDown</Code></Error>") == "SlowDown");
    CHECK(error_code_of("<Errors><Code>SlowDown</Code></Errors>").empty());
    CHECK(error_code_of("<html><body>no</body></html>").empty());
}

TEST_CASE("What is no answer of S3 is refused, and what might be a secret is no name of an error") {
    const std::string deep = "<a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a>";
    for (const std::string& text : {std::string(),
                                    std::string("text"),
                                    std::string("<Error>"),
                                    std::string("<Error><Code>A</Code>"),
                                    std::string("</Error>"),
                                    std::string("<Error><Code>A</Cod></Error>"),
                                    std::string("<Error></Error>x"),
                                    std::string("<Error></Error><Error/>"),
                                    std::string("<Error><Code>A</Code><Code>B</Code></Error>"),
                                    std::string("<Error><Code></Code></Error>"),
                                    std::string("<Error><Code>A-1</Code></Error>"),
                                    std::string("<Error><Code>A B</Code></Error>"),
                                    std::string("<Error><Code>") + std::string(65, 'A') + "</Code></Error>",
                                    std::string("<Error>x<Code>A</Code></Error>"),
                                    std::string("<Error><Code>A</Code>x</Error>"),
                                    std::string("<Error><!-- --><Code>A</Code></Error>"),
                                    std::string("<!DOCTYPE a [<!ENTITY b \"c\">]><Error/>"),
                                    std::string("<Error><Code><![CDATA[A]]></Code></Error>"),
                                    std::string("<Error><Code>&b;</Code></Error>"),
                                    std::string("<Error><Code>&amp</Code></Error>"),
                                    std::string("<Error><Region>a/b</Region></Error>"),
                                    std::string("<A><UploadId>a b</UploadId></A>"),
                                    std::string("<A><UploadId>a\nb</UploadId></A>"),
                                    "<A><UploadId>" + std::string(2049, 'x') + "</UploadId></A>",
                                    std::string("<?xml <?><A/>"),
                                    std::string("<A b=\"></A>"),
                                    std::string("< A></ A>"),
                                    std::string("<A></A b>"),
                                    deep}) {
        CAPTURE(text);
        CHECK_FALSE(parse_s3_reply(text));
    }
}

TEST_CASE("The list of parts is XML, and reads back") {
    CHECK(s3_parts_list({}) ==
          "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"></CompleteMultipartUpload>");
    const std::vector<std::string> tags = {"\"a\"", "<&>"};
    const std::string list = s3_parts_list(tags);
    CHECK_THAT(list, support::contains_text("<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>"));
    CHECK_THAT(list, support::contains_text("<Part><PartNumber>2</PartNumber><ETag>&lt;&amp;&gt;</ETag></Part>"));
    CHECK(parse_s3_reply(list).has_value());
}

TEST_CASE("Ten thousand parts hold 5 TiB, and none is larger than S3 takes") {
    constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
    for (const std::uint64_t first : {8 * mebi, 16 * mebi, 100 * mebi, 5120 * mebi}) {
        std::uint64_t total = 0;
        for (unsigned i = 0; i < ztensor::detail::s3_most_parts; ++i) {
            const std::uint64_t bytes = s3_part_bytes(first, i);
            REQUIRE(bytes >= first);
            REQUIRE(bytes <= 5120 * mebi);
            total += bytes;
        }
        CHECK(total >= mebi * mebi * 5);
    }
    CHECK(s3_part_bytes(8 * mebi, 1999) == 8 * mebi);
    CHECK(s3_part_bytes(8 * mebi, 2000) == 24 * mebi);
}
