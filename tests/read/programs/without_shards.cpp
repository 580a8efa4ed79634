// SPDX-License-Identifier: MIT
//
// A program no file of which asked for shards opens files of version 2, and says of a root what is lacking. Where
// object files are not ELF, each program finds shards.
#include <ztensor/reader.hpp>

#include <cstdio>
#include <string>

int main() {
    const auto alone = ztensor::reader::open("tests/corpus/v2/valid/shard-an-empty-table.zt");
    const auto root = ztensor::reader::open("tests/corpus/v2/sharded/model.zt");
#if !defined(__ELF__)
    return alone && root ? 0 : 1;
#endif
    if (!alone || root || root.error().code() != ztensor::errc::not_built_in ||
        root.error().sentence().find("<ztensor/shards.hpp>") == std::string::npos) {
        std::printf("%s\n%s\n", alone ? "" : alone.error().what().c_str(),
                    root ? "the root opens" : root.error().what().c_str());
        return 1;
    }
    return 0;
}
