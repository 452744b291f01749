#include "cli/program.h"
#include "cli/terminal/interrupt.h"

int main(int argc, char** argv) {
  anedvd::install_signal_handlers();
  return anedvd::run_program({argv + (argc > 0 ? 1 : 0), argv + argc});
}
