// Help, made from the same data that the parser reads.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/terminal/console.h"

namespace anedvd {

// `anedvd` alone: commands in groups.
std::string program_help(const Console& console);

// `anedvd COMMAND --help`: fits 24 rows where it can. Rare options are only named.
std::string command_help(const Command& command, const Console& console);

// `anedvd help COMMAND`: the same with every option explained.
std::string full_command_help(const Command& command, const Console& console);

// toknize: no such command; did you mean tokenize?
tl::unexpected<Error> no_such_command(const std::string& word);

}  // namespace anedvd
