// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The condition types of a Memcached, in the meaning that kstatus gives them.
const (
	// ConditionReady is True when every object is as the templates say and all
	// pods are up to date and ready, and Unknown while the Memcached is paused. It is
	// always present.
	ConditionReady = "Ready"
	// ConditionAvailable is True while enough pods answer for clients to be served.
	ConditionAvailable = "Available"
	// ConditionReconciling is True while the operator or the cluster is still at
	// work on the spec, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing will move before somebody changes
	// something, and absent otherwise.
	ConditionStalled = "Stalled"
)

// ConditionTypes are the types of all conditions that the operator sets.
var ConditionTypes = []string{ConditionReady, ConditionAvailable, ConditionReconciling, ConditionStalled}

// The reasons that conditions carry. Where the cluster itself names one
// (ImagePullBackOff, FailedCreate, Unschedulable …), Ready carries that word.
const (
	// ReasonReady goes with Ready=True.
	ReasonReady = "Ready"
	// ReasonScaledToZero goes with Available=False when size is 0.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRollingOut says that pods are being created, replaced or removed.
	ReasonRollingOut = "RollingOut"
	// ReasonMinimumPodsReady goes with Available=True.
	ReasonMinimumPodsReady = "MinimumPodsReady"
	// ReasonTooFewPodsReady goes with Available=False.
	ReasonTooFewPodsReady = "TooFewPodsReady"
	// ReasonRenderFailed says that the templates give no objects for this spec.
	ReasonRenderFailed = "RenderFailed"
	// ReasonInvalidPatch says that one of spec.patches cannot be applied.
	ReasonInvalidPatch = "InvalidPatch"
	// ReasonLimitExceeded says that the spec, a patch or a rendered object is larger
	// than the operator takes. What runs goes on.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonPrivilegedField says that the spec has a field that the operator takes only
	// with --allow-privileged-fields.
	ReasonPrivilegedField = "PrivilegedField"
	// ReasonPaused goes with Ready=Unknown: spec.paused is true.
	ReasonPaused = "Paused"
	// ReasonForeignObject says that an object of a needed name belongs to somebody else.
	ReasonForeignObject = "ForeignObject"
	// ReasonInvalidObject says that the API server refuses a rendered object as invalid.
	ReasonInvalidObject = "InvalidObject"
	// ReasonContended says that something else changes an object back each time that it is
	// written.
	ReasonContended = "Contended"
	// ReasonApplyFailed says that a write failed and will be tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForDeletion says that an object of a needed name is still being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
)
