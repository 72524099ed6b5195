// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/memcached-operator/internal/exporter"
)

const exporterLong = `Exporter serves the metrics of a memcached that requires TLS or a user, with the names of prometheus/memcached_exporter. It
runs as the sidecar of the pods of such Memcacheds. It reads certificate and users again for each connection.`

func newExporterCommand(streams Streams) *cobra.Command {
	o := exporter.Options{}
	command := &cobra.Command{
		Use:   "exporter [flags]",
		Short: "Serve the metrics of a memcached with TLS or users",
		Long:  exporterLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Timeout <= 0 {
				return fmt.Errorf("--timeout: %s is not positive", o.Timeout)
			}
			if o.Address == "" {
				return errors.New("--memcached-address is empty: give it as host:port")
			}
			return exporter.Run(cmd.Context(), o, slog.New(slog.NewJSONHandler(streams.Err, nil)))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Address, "memcached-address", "localhost:11211", "Address of memcached, as host:port.")
	flags.StringVar(&o.ListenAddress, "listen-address", ":9150", "Address at which /metrics is served, as [host]:port.")
	flags.StringVar(&o.TLSDir, "tls-dir", "", "Directory with tls.crt and tls.key, which are presented to memcached. If there is none, the connection is in plain text.")
	flags.StringVar(&o.AuthFile, "auth-file", "", "File with a user:password a line, of which the first is used. If there is none, no user logs in.")
	flags.DurationVar(&o.Timeout, "timeout", time.Second, "How long connecting to memcached and each answer may take.")
	return command
}
