// SPDX-License-Identifier: Apache-2.0

// Package plugin is the kubectl plugin: commands that show Memcacheds and ask their pods, with the permissions of the user.
package plugin
