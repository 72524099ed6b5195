// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The condition types of a Memcached, as kstatus defines them.
const (
	// ConditionReady is True when every object matches its template and all pods are up to date
	// and ready, and Unknown while the Memcached is paused. It is always present.
	ConditionReady = "Ready"
	// ConditionAvailable is True while at least half of the pods are ready. It is always
	// present.
	ConditionAvailable = "Available"
	// ConditionReconciling is True while a change is in progress, and absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing can progress until a user changes something, and
	// absent otherwise.
	ConditionStalled = "Stalled"
)

// ConditionTypes are the types of all conditions that the operator sets.
var ConditionTypes = []string{ConditionReady, ConditionAvailable, ConditionReconciling, ConditionStalled}

// The reasons of conditions. Where Kubernetes gives a reason, such as ImagePullBackOff, FailedCreate
// or Unschedulable, Ready has that reason.
const (
	// ReasonReady is the reason of Ready=True.
	ReasonReady = "Ready"
	// ReasonScaledToZero is the reason of Available=False when size is 0.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRollingOut means that pods are being created, replaced or removed.
	ReasonRollingOut = "RollingOut"
	// ReasonMinimumPodsReady is the reason of Available=True.
	ReasonMinimumPodsReady = "MinimumPodsReady"
	// ReasonTooFewPodsReady is the reason of Available=False.
	ReasonTooFewPodsReady = "TooFewPodsReady"
	// ReasonRenderFailed means that the templates cannot be rendered for this spec.
	ReasonRenderFailed = "RenderFailed"
	// ReasonInvalidPatch means that one of spec.patches cannot be applied.
	ReasonInvalidPatch = "InvalidPatch"
	// ReasonInvalidParameter means that the templates do not declare one of spec.parameters, or do
	// not accept its value.
	ReasonInvalidParameter = "InvalidParameter"
	// ReasonLimitExceeded means that the spec, a patch or a rendered object exceeds a limit of the
	// operator. Running pods are not changed.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonPrivilegedField means that the spec sets a field that the operator accepts only with
	// --allow-privileged-fields.
	ReasonPrivilegedField = "PrivilegedField"
	// ReasonPaused is the reason of Ready=Unknown: spec.paused is true.
	ReasonPaused = "Paused"
	// ReasonOwnershipConflict means that an object with the name of a rendered one has another
	// owner.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonInvalidObject means that the API server rejects a rendered object as invalid.
	ReasonInvalidObject = "InvalidObject"
	// ReasonContended means that another writer undoes each write of an object.
	ReasonContended = "Contended"
	// ReasonApplyFailed means that a write failed and will be retried.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonVolumesNotReady means that volumes or network of a pod have not been ready for a while, as when a Secret is
	// missing.
	ReasonVolumesNotReady = "VolumesNotReady"
	// ReasonNodeNotReady means that the node of a pod does not answer.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonWaitingForDeletion means that an object with the name of a rendered one is still being
	// deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
)
