// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "svg:", err)
		os.Exit(1)
	}
}

// run draws the picture of args, a kind and a file, to standard output.
func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: svg dataflow|recording|screen FILE")
	}
	source, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("reading the source: %w", err)
	}
	var picture []byte
	switch args[0] {
	case "dataflow":
		picture, err = dataflow(source)
	case "recording":
		picture, err = recording(source)
	case "screen":
		picture, err = screen(source)
	default:
		return fmt.Errorf("unknown picture %q", args[0])
	}
	if err != nil {
		return fmt.Errorf("drawing %s: %w", args[1], err)
	}
	if _, err := os.Stdout.Write(picture); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}
