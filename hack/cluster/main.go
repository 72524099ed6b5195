package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

const usage = `Usage: cluster COMMAND [flags]

A real Kubernetes control plane on this machine, with simulated nodes.

Commands:
  up    --dir DIR              start one in the background, print its kubeconfig
  down  --dir DIR              stop it and remove DIR
  serve [--dir DIR]            run one in the foreground; when it is ready, print
                               {"kubeconfig": ..., "dir": ...} as one line
  run   [--dir DIR] -- CMD...  run CMD against one, with KUBECONFIG and PATH set,
                               and exit with CMD's status

"cluster COMMAND -h" lists the flags.
`

// exitStatus is an error that is nothing but the status to exit with.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	log.SetFlags(0)
	log.SetPrefix("cluster: ")
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))

	// A write to a pipe without a reader must fail instead of killing this process,
	// because the cluster must be stopped first.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := dispatch(ctx, os.Args[1:])
	var status exitStatus
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		log.Print(err)
		os.Exit(1)
	}
}

// dispatch runs the command that the arguments name.
func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitStatus(2)
	}
	switch name, args := args[0], args[1:]; name {
	case "up":
		return up(ctx, args)
	case "down":
		return down(args)
	case "serve":
		return serve(ctx, args)
	case "run":
		return run(ctx, args)
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		fmt.Fprintf(os.Stderr, "cluster: unknown command %q\n\n%s", name, usage)
		return exitStatus(2)
	}
}

// options is what describes the cluster to start.
type options struct {
	dir                string
	bin                string
	crds               string
	nodes              int
	featureGates       string
	withoutControllers bool
}

// bind declares the flags of every command that starts a cluster.
func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.dir, "dir", "", "directory that holds everything; removed in the end")
	flags.StringVar(&o.bin, "bin", "", "directory of the control plane's programs (default \"kube\" beside this one)")
	flags.StringVar(&o.crds, "crds", "",
		"directory of CustomResourceDefinitions to install before the controllers start: the garbage collector looks for new kinds every 30 s only")
	flags.StringVar(&o.featureGates, "feature-gates", os.Getenv("CLUSTER_FEATURE_GATES"),
		"feature gates of the API server, as name=true,name=false; by default those of CLUSTER_FEATURE_GATES")
	flags.IntVar(&o.nodes, "nodes", 1, "how many simulated nodes to make")
	flags.BoolVar(&o.withoutControllers, "without-controllers", false,
		"start only etcd and the API server: no controllers, no nodes, up sooner")
}

// parse parses a command's flags and reports what is wrong with them.
func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return exitStatus(2) // flag has said what is wrong
	}
	return err
}

// serve is the command that runs a cluster until it is told to stop.
func serve(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("cluster serve", flag.ContinueOnError)
	o.bind(flags)
	untilStdinCloses := flags.Bool("until-stdin-closes", false,
		"also stop at the end of standard input, that is, when the parent process has ended")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *untilStdinCloses {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel(errors.New("standard input was closed"))
		}()
	}
	return supervise(ctx, o, func(c *cluster) error {
		if err := json.NewEncoder(os.Stdout).Encode(c.access()); err != nil {
			return fmt.Errorf("printing the kubeconfig's path: %w", err)
		}
		<-c.alive.Done()
		return c.failure(ctx)
	})
}

// supervise starts a cluster, hands it to use, and stops it again. It leaves
// nothing behind but, after a failure in a directory that the user named, logs.
func supervise(ctx context.Context, o options, use func(*cluster) error) error {
	if o.nodes < 0 {
		return fmt.Errorf("--nodes=%d: want none or more", o.nodes)
	}
	programs, err := findPrograms(o)
	if err != nil {
		return err
	}
	dir, err := claimWorkDir(o.dir)
	if err != nil {
		return err
	}
	c, err := startCluster(ctx, dir, programs, o)
	if err != nil && ctx.Err() != nil { // told to stop: no logs are of interest
		return errors.Join(context.Cause(ctx), dir.remove())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("starting the cluster: %w", err), dir.keepLogs())
	}
	err = use(c)
	c.stop()
	var status exitStatus
	if err != nil && !errors.As(err, &status) {
		return errors.Join(err, dir.keepLogs())
	}
	return errors.Join(err, dir.remove())
}
